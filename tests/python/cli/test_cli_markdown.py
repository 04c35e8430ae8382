"""How answers are shown: Markdown on a terminal where `rich` is, wrapped words without, and as they are elsewhere."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING

import pytest
from command_line import display
from loopwright.cli import markdown
from loopwright.cli.text import width
from loopwright.testing import WireServer, text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

needs_terminal = pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
needs_rich = pytest.mark.skipif(markdown.rich_version() is None, reason="rich is not installed")
CODES = re.compile(r"\x1b\[[\d;]*m")
ANSWER = """# The harbour

It opens at **six**, and `closes` at eight; [the notes](https://example.org/notes) say more about the hours than this \
does, at length.

- *Summer*: from 05:30
- *Winter*: from 06:00, unless there is ice on the water, for then nobody comes in or goes out before somebody looked

1. one

   still one
2. two

```python
def opens(month: int) -> Vec<u8>:

    return f"{month:02}:30  # and a line of code that is longer than most terminals are wide, which stays one line"
```

| month | opens |
| --- | ---: |
| May | 05:30 |

Vec<u8> and :smile: and [bold]x[/bold].

[later]: https://example.org/later
"""


def shown(renderer: markdown.Renderer, source: str, columns: int, piece: int) -> str:
    """What is on the screen when the answer came in such pieces."""
    found, rest = [], ""
    for at in range(0, len(source), piece):
        rest += source[at : at + piece]
        whole = renderer.whole(rest)
        if whole:
            found.append(renderer.render(rest[:whole], columns).removesuffix("\n"))
            rest = rest[whole:]
    return "\n".join([*found, renderer.render(rest.rstrip(), columns)] if rest.strip() else found)


@needs_rich
@pytest.mark.parametrize("columns", [40, 60, 100, 200])
def test_markdown_is_the_same_in_whatever_pieces_it_comes(columns: int) -> None:
    whole = shown(markdown._Rich(colour=True), ANSWER, columns, len(ANSWER))
    for piece in (1, 7, 64):
        assert shown(markdown._Rich(colour=True), ANSWER, columns, piece) == whole
    lines = CODES.sub("", whole).split("\n")
    assert all(width(line) <= min(columns, 120) for line in lines)
    assert not any("\n\n\n" in part for part in "\n".join(lines).split("def opens"))


@needs_rich
def test_markdown_loses_no_word_and_shows_where_links_lead() -> None:
    plain = CODES.sub("", shown(markdown._Rich(colour=True), ANSWER, 100, 9))
    for part in (
        "The harbour",
        "six",
        "the notes (https://example.org/notes)",
        "still one",
        "Vec<u8>:",
        "Vec<u8> and :smile: and [bold]x[/bold].",
        "05:30",
        "https://example.org/later",
    ):
        assert part in plain, part
    assert "**" not in plain and "```" not in plain


@needs_rich
def test_without_colours_nothing_is_coloured() -> None:
    assert "\x1b" not in shown(markdown._Rich(colour=False), ANSWER, 80, 50)


def test_words_are_wrapped_and_code_stays_as_it_is() -> None:
    found = shown(markdown._Words(), ANSWER, 60, 11)
    assert "".join(found.split()) == "".join(ANSWER.split())
    code = ANSWER.split("```")[1]
    assert code in found
    assert all(width(line) <= 60 for line in found.replace(code, "").split("\n"))
    item = found.split("- *Winter*")[1].split("\n\n")[0].split("\n")
    assert len(item) > 1
    assert all(line.startswith("  ") for line in item[1:])


@needs_terminal
@pytest.mark.parametrize("has_rich", [pytest.param(True, marks=needs_rich), False])
@pytest.mark.parametrize("columns", [60, 100, 200])
def test_an_answer_on_a_terminal_fits_it(terminal: Callable, tmp_path: Path, columns: int, has_rich: bool) -> None:
    more = {}
    if not has_rich:
        # A machine without it.
        without = tmp_path / "without" / "rich"
        without.mkdir(parents=True)
        (without / "__init__.py").write_text("raise ImportError\n")
        more["PYTHONPATH"] = os.pathsep.join([str(without.parent), os.environ.get("PYTHONPATH", "")])
    hostile = f"{ANSWER}\n`\x1b]0;owned\x07` \x1b[2J**bold \x1b[31m**\x9b2J\u202e end"
    with WireServer([text(hostile).slowly(0.001)]) as server:
        ended = terminal("run", "x", "--model", "anthropic:m", "--base-url", server.url, columns=columns, **more)
        assert ended.end() == 0
    lines = display(ended.raw, columns)
    answer = "\n".join(lines)
    assert ("**six**" in answer) == (not has_rich)
    assert answer.count("opens at") == 1
    assert answer.count("bold") == 3
    # Words are broken between, never inside.
    assert {"It", "opens", "hours", "length.", "somebody", "looked", "end"} <= set(answer.split())
    # What steers the terminal is ours alone: colours, and what takes drafts away.
    assert set(re.findall(r"\x1b\[[\d;?]*([A-Za-z])", ended.raw)) <= set("mAJK")
    assert "\x1b[2J" not in ended.raw and "\x1b]" not in ended.raw
    assert not set(ended.raw) & {"\x07", "\x9b", "\u202e"}


def test_in_a_pipe_markdown_stays_what_it_is(loopwright: Callable) -> None:
    with WireServer([text(ANSWER)]) as server:
        ended = loopwright("run", "x", "--model", "anthropic:m", "--base-url", server.url)
    assert (ended.code, ended.out) == (0, f"{ANSWER}\n")
