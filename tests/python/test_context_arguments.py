"""What is given to the rooms of tokens and context and can't be meant is named; several threads may give it."""

from __future__ import annotations

import json
import re
import threading
from typing import Any

import pytest
from loopwright import UsageError
from loopwright.context import Archive, ContextWindow, compress
from loopwright.errors import LoopwrightError
from loopwright.tokens import TokenCounter


def say(role: str, content: Any) -> dict[str, Any]:
    return {"role": role, "content": content}


@pytest.mark.parametrize("number", [-1, 10**30, 1.5, "3", None])
def test_c30_what_is_no_number_of_tokens_is_named(number: Any) -> None:
    counter = TokenCounter("claude-sonnet-4-5")
    for tell in (
        lambda: counter.reported([say("user", "go")], number),
        lambda: counter.learn(counter.count("some words"), number),
    ):
        with pytest.raises(UsageError, match=re.escape(f"are a number, not {number!r}")) as caught:
            tell()
        assert caught.value.code == "invalid_value"


@pytest.mark.parametrize("wrong", [None, 3, b"x", []])
def test_c26_what_is_no_handle_is_named(wrong: Any) -> None:
    fitted = compress([say("user", f"{n} " * 90) for n in range(9)], 500)
    for call in (
        fitted.archive.recall,
        lambda words: fitted.archive.recall(find=words),
        fitted.archive.get,
        Archive.from_json,
        ContextWindow.from_json,
    ):
        with pytest.raises(UsageError, match="is text, not") as caught:
            call(wrong)
        assert caught.value.code == "invalid_value"
    assert wrong not in fitted.archive


@pytest.mark.parametrize("wrong", [None, "3", 1.5, True])
def test_c26_what_is_no_number_of_lines_is_named(wrong: Any) -> None:
    archive = compress([say("user", f"{n} " * 90) for n in range(9)], 500).archive
    with pytest.raises(UsageError, match="from_line is a whole number"):
        archive.recall(archive.handles[0], from_line=wrong)
    with pytest.raises(UsageError, match="limit is a whole number"):
        archive.recall(archive.handles[0], limit=wrong)
    assert archive.recall(archive.handles[0], from_line=-(10**30), limit=10**30)


def test_c26_halves_of_characters_find_nothing() -> None:
    archive = compress([say("user", f"{n} " * 90) for n in range(9)], 500).archive
    assert "\ud800" not in archive
    assert archive.get("\ud800") is None
    assert archive.recall(find="\ud800").startswith("nothing that left")
    with pytest.raises(LoopwrightError) as caught:
        archive.recall("\ud800")
    assert caught.value.code == "unknown_handle"


@pytest.mark.parametrize("wrong", [None, 3, 1.5])
def test_c26_what_is_no_list_of_messages_is_named(wrong: Any) -> None:
    for call in (compress, lambda given, _: ContextWindow(100).replay(given)):
        with pytest.raises(UsageError, match="messages are a list of messages") as caught:
            call(wrong, 100)
        assert caught.value.code == "invalid_messages"


def test_c26_threads_may_share_a_window() -> None:
    window = ContextWindow(3_000, shape="openai_chat")
    window.append(say("user", "go"))
    failed: list[BaseException] = []

    def work() -> None:
        try:
            for at in range(60):
                window.append(say("user", f"line {at} of some more words " * 20))
                assert window.messages
                assert window.tokens <= 3_000
                assert len(window) > 0
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    window.compact()
    assert window.report is not None
    # None is lost; where there was nothing more to gain, the report is that of the compaction before.
    assert len(json.loads(window.to_json())["given"]) == 361
