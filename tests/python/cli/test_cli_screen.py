"""What is seen on a terminal."""

from __future__ import annotations

import os
import re
import signal
import sys
from typing import TYPE_CHECKING

import pytest
from loopwright.cli.text import Cleaner, clean, fit, seconds, visible, width, wrap
from loopwright.testing import WireServer, call, fault, text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

needs_terminal = pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
COLOUR = re.compile(r"\x1b\[[\d;]*m")


def run(server: WireServer, *more: str) -> list[str]:
    return ["run", "look", "--model", "anthropic:m", "--base-url", server.url, *more]


def seen(raw: str) -> list[str]:
    """The lines that stay on the screen."""
    raw = COLOUR.sub("", raw).replace("\r\n", "\n")
    return [re.split(r"\r\x1b\[(?:2K|J)", line)[-1].rstrip() for line in raw.split("\n")]


@needs_terminal
def test_text_streams_and_stays_once(terminal: Callable, tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("a line\n")
    with WireServer(
        [call("read_file", path="x.txt"), text("One two three four five six seven.").slowly(0.05)]
    ) as server:
        shown = terminal(*run(server))
        shown.until("One two three")
        assert "seven" not in shown.text
        assert shown.end() == 0
    lines = seen(shown.raw)
    assert lines.count("One two three four five six seven.") == 1
    assert sum(line.startswith("Reading x.txt (read_file, ") for line in lines) == 1
    assert "    1 a line" in lines
    assert not [line for line in lines if "Thinking" in line]
    assert lines[-2].startswith("journal: .loopwright/journal.db, run ")


@needs_terminal
def test_what_broke_off_is_said_to_come_again(terminal: Callable) -> None:
    with WireServer(
        [text("One two three four five six.").but(fault.cut(after=4)), text("All of it, in the end.")]
    ) as server:
        shown = terminal(*run(server))
        assert shown.end() == 0
    assert "All of it, in the end." in seen(shown.raw)


@needs_terminal
def test_no_color_is_honoured(terminal: Callable) -> None:
    with WireServer([call("list_folder"), text("Done.")], repeat_last=True) as server:
        coloured = terminal(*run(server))
        assert coloured.end() == 0
        plain = terminal(*run(server), NO_COLOR="1")
        assert plain.end() == 0
        dumb = terminal(*run(server), TERM="dumb")
        assert dumb.end() == 0
    assert COLOUR.search(coloured.raw)
    assert not COLOUR.search(plain.raw)
    assert "\x1b" not in dumb.raw


@needs_terminal
@pytest.mark.parametrize("columns", [0, 1, 20, 33])
def test_narrow_terminals_and_wide_letters(terminal: Callable, columns: int, tmp_path: Path) -> None:
    name = "世界" * 12 + ".txt"
    (tmp_path / name).write_text("世" * 300 + "\n")
    with WireServer([call("read_file", path=name).slowly(0.05), text("好")]) as server:
        shown = terminal(*run(server), columns=columns)
        assert shown.end() == 0
    if columns >= 20:
        status = re.findall(r"\r\x1b\[2K([^\r\n]+)", COLOUR.sub("", shown.raw))
        assert status
        assert all(width(line) <= columns for line in status if "…" in line and " s" in line), status
        excerpts = [line for line in seen(shown.raw) if line.startswith("    1 世")]
        assert excerpts
        assert all(width(line) <= columns for line in excerpts)


@needs_terminal
def test_ctrl_c_on_the_terminal(terminal: Callable) -> None:
    with WireServer([text("slow").after(10)]) as server:
        shown = terminal(*run(server))
        shown.until("Thinking")
        shown.type("\x03")
        shown.until("Ctrl-C again stops at once")
        shown.type("\x03")
        assert shown.end(8) == 130
    assert "Traceback" not in shown.raw


@needs_terminal
def test_quiet_shows_the_answer_alone(terminal: Callable) -> None:
    with WireServer([call("list_folder"), text("Done.")]) as server:
        shown = terminal(*run(server, "--quiet"))
        assert shown.end() == 0
    assert shown.text == "Done.\n"


@needs_terminal
def test_a_terminal_that_goes_away_is_no_drama(terminal: Callable) -> None:
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        pytest.skip("whoever runs the tests has told their children to ignore SIGHUP, as nohup does")
    with WireServer([text("late").after(1)]) as server:
        shown = terminal(*run(server))
        shown.until("Thinking")
        os.kill(shown.process.pid, signal.SIGHUP)
        assert shown.end() != 0


def test_an_escape_that_is_cut_in_two_is_still_one() -> None:
    whole = "a\x1b[1;31mb\x1b]8;;http://x\x07c\x1b(Bd\x9b2Je\r\nf\rg\x1b"
    for at in range(len(whole) + 1):
        for then in range(at, len(whole) + 1):
            cleaner = Cleaner()
            pieces = [cleaner.feed(piece) for piece in (whole[:at], whole[at:then], whole[then:])]
            assert "".join(pieces) == "abcde\nf\ng", (at, then)


def test_clean_leaves_words_alone_and_nothing_that_steers() -> None:
    for kept in (
        "plain",
        "tab\tand\nline",
        "Grüße 世界 😀",
        "e\u0301",
        "\u0915\u094d\u200d\u0937",
        "👩\u200d💻",
        "שלום",
    ):
        assert clean(kept) == kept
    steering = "".join(map(chr, [*range(32), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2060, 0x2070)]))
    assert set(clean(steering)) <= {"\t", "\n"}
    assert visible("a\x1b[2Jb\u202ec\rd\ne") == "a\\u{1b}[2Jb\\u{202e}c\\rd\ne"


def test_fit_is_never_wider_than_asked() -> None:
    for words in ("plain words that go on", "世界世界世界世界", "e\u0301" * 30, "\u0301" * 500, ""):
        for columns in range(12):
            assert width(fit(words, columns)) <= max(0, columns)
    assert fit("exactly", 7) == "exactly"
    assert fit("exactly!", 7) == "exactl…"


def test_durations_read_well() -> None:
    found = [seconds(each) for each in (0, 0.0123, 0.9, 1.25, 9.94, 59.7, 60, 61, 125.2, 3600)]
    assert found == ["0 ms", "12 ms", "900 ms", "1.2 s", "9.9 s", "60 s", "60 s", "1 min 1 s", "2 min 5 s", "60 min"]


def test_wrap_breaks_between_words_and_keeps_the_margin() -> None:
    assert wrap("  one two three four", 12) == "  one two\n  three four"
    assert wrap("  name  1 ms  one two three", 20, margin=10) == "  name  1 ms  one\n" + " " * 10 + "two three"
    assert wrap("short", 80) == "short"
    assert wrap("one\n\ntwo three", 5) == "one\n\ntwo\nthree"
    assert wrap("a-word-that-is-longer-than-all", 10) == "a-word-that-is-longer-than-all"
    assert wrap("世界 世界 世界", 9) == "世界 世界\n世界"
