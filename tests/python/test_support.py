"""Whether sources hold an answer: one rule for folders, lists and indexes; copies count once, hidden text not at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from loopwright import Grounded
from loopwright.retrieve import Index, quote

OFFLINE = "offline:extractive"
TEXTS = {
    "retries.md": "# Retries\n\nA failed request is tried again up to 3 times. The wait between attempts doubles.\n",
    "cache.md": "# Cache\n\nThe cache holds ten pages. It forgets the page that was used longest ago.\n",
    "ferry.md": "# Ferry\n\nThe ferry to Husum leaves at noon and takes two hours. Dogs travel free.\n",
}
KNOWN = [
    "How often is a failed request tried again?",
    "How many pages does the cache hold?",
    "When does the ferry leave?",
]
FOREIGN = [
    "Who is the king of Spain?",
    "How many pages has the longest novel of Tolstoy?",
    "Which dogs hunt foxes in Wales?",
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize("question", KNOWN)
def test_x15_what_the_sources_hold_is_answered_everywhere(folder: Path, question: str) -> None:
    assert Grounded(OFFLINE, sources=[folder]).run_sync(question).stop_reason == "verified"
    assert quote(question, list(TEXTS.values()))
    assert Index(TEXTS.values()).quote(question)


@pytest.mark.parametrize("question", FOREIGN)
def test_x15_what_they_do_not_hold_is_answered_nowhere(folder: Path, question: str) -> None:
    result = Grounded(OFFLINE, sources=[folder]).run_sync(question)
    assert result.stop_reason == "abstained"
    assert "I found nothing" in (result.final or "")
    assert not quote(question, list(TEXTS.values()))
    assert not Index(TEXTS.values()).quote(question)


def test_x15_the_same_text_three_times_is_still_an_answer(tmp_path: Path) -> None:
    text = "The timeout of a request is 30 seconds."
    for name in ("one.md", "two.md", "three.md", "four.md"):
        (tmp_path / name).write_text(text)
    (tmp_path / "other.md").write_text("The ferry leaves at noon.")
    question = "What is the timeout of a request?"
    result = Grounded(OFFLINE, sources=[tmp_path]).run_sync(question)
    assert result.final is not None
    assert result.final.count(text) == 1
    assert quote(question, [text, text, text]).text == f"{text} [source 1:1]"
    assert Index([text, text, text, "The ferry leaves at noon."]).quote(question).text.count(text) == 1


def test_x15_what_a_page_hides_is_no_evidence(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(
        "<html><head><style>.ghost { display: none }</style></head>\n<body><p>The ferry leaves at noon.</p>\n"
        "<p style='display:none'>The tower is 90 metres high.</p><div hidden>The tower is 91 metres high.</div>\n"
        "<p class='ghost'>The tower is 92 metres high.</p><!-- The tower is 93 metres high. -->\n"
        "<p style='color:#fff;background:#fff'>The tower is 94 metres high.</p>\n"
        "<noscript>The tower is 95 metres high.</noscript><template>The tower is 96 metres high.</template>\n"
        "<span style='font-size:0'>The tower is 97 metres high.</span>\n"
        "<div style='position:absolute;left:-9999px'>The tower is 98 metres high.</div></body></html>\n"
    )
    grounded = Grounded(OFFLINE, sources=[tmp_path])
    hidden = grounded.run_sync("How high is the tower?")
    assert hidden.stop_reason == "abstained"
    assert "metres" not in (hidden.final or "")
    shown = grounded.run_sync("When does the ferry leave?")
    assert shown.final == "The ferry leaves at noon. [page.html:2]"


def test_x15_the_same_question_gives_the_same_answer_bit_for_bit(folder: Path) -> None:
    answers = {Grounded(OFFLINE, sources=[folder]).run_sync(KNOWN[0]).final for _ in range(3)}
    assert len(answers) == 1
