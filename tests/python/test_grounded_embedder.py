"""Grounded answers over folders that are searched by meaning, too."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from loopwright import Grounded, UsageError
from loopwright.testing import ScriptedModel

QUESTION = "How long may a kitten sleep?"
FILLER = "\n\n".join(
    f"Paragraph {n} of the handbook speaks of harbours and of boats that lie there." for n in range(30)
)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "my docs"
    folder.mkdir()
    (folder / "a.md").write_text(f"# Harbours\n\n{FILLER}\n")
    (folder / "b.md").write_text(f"# Beasts\n\n{FILLER}\n\nA young feline rests for 20 hours of each day.\n")
    return folder


class Meaning:
    """Knows that felines are kittens."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def __call__(self, texts: list[str]) -> list[list[float]]:
        self.texts += texts
        words = [("feline", "kitten", "cat"), ("rest", "sleep"), ("harbour", "boat")]
        return [[1.0 * any(word in text for word in group) for group in words] + [0.1] for text in texts]


@pytest.mark.parametrize("way", ["sync", "async"])
def test_e05_an_embedder_finds_what_shares_no_word(docs: Path, way: str) -> None:
    meaning = Meaning()
    line = (docs / "b.md").read_text().splitlines().index("A young feline rests for 20 hours of each day.") + 1
    good = f"A young feline rests for 20 hours of each day. [b.md:{line}]"
    without = Grounded(ScriptedModel([good] * 3), sources=docs).run_sync(QUESTION)
    assert not without.verified
    grounded = Grounded(ScriptedModel([good] * 2), sources=docs, embedder=meaning)

    async def asked() -> Any:
        return await grounded.run(QUESTION)

    result = grounded.run_sync(QUESTION) if way == "sync" else asyncio.run(asked())
    assert result.verified, result.warnings
    assert result.sources[0].reference == "b.md"
    made = len(meaning.texts)
    assert grounded.run_sync(QUESTION).verified
    assert len(meaning.texts) == made + 1, "only the question is new"


def test_an_embedder_that_fails_leaves_the_words(docs: Path) -> None:
    def broken(texts: list[str]) -> Any:
        raise OSError("no vectors")

    good = "Paragraph 3 of the handbook speaks of harbours. [a.md:9]"
    result = Grounded(ScriptedModel([good]), sources=docs, embedder=broken).run_sync("What does paragraph 3 speak of?")
    assert result.verified, result.warnings
    assert any("no vectors" in warning for warning in result.warnings)
    with pytest.raises(UsageError):
        Grounded(ScriptedModel([]), sources=docs, embedder=3)  # type: ignore[arg-type]
