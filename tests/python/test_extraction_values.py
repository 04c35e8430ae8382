"""What extraction gives out: values that can be kept, compared, copied and sent to another process."""

from __future__ import annotations

import copy
import pickle
import threading
from typing import Any

import pytest
from loopwright import UsageError
from loopwright.extraction import ToolCallParser, dialects, extract, find_json, repair_json

TEXT = (
    "<think>Oslo.</think>Let me look.\n<tool_response>no</tool_response>"
    '<tool_call>{"name": "f", "arguments": {"a": 1,}}</tool_call>'
    "<function=g><parameter=b>\U0001f30d</parameter></function> Done."
)


def everything() -> list[Any]:
    """One of each thing that is given out."""
    found = extract(TEXT)
    parser = ToolCallParser()
    events = [*parser.feed(TEXT), *parser.finish()]
    mended = repair_json("{a: 1")
    return [found, *found.calls, *found.problems, *found.spans, *events, mended, *mended.repairs, find_json('{"a": 1}')]


@pytest.mark.parametrize("at", range(len(everything())))
def test_d08_what_is_given_out_can_be_kept(at: int) -> None:
    one, again = everything()[at], everything()[at]
    assert one == again
    assert hash(one) == hash(again)
    assert one != "something else"
    for twin in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one))):  # noqa: S301 - our own
        assert twin == one
        assert repr(twin) == repr(one)
    with pytest.raises(AttributeError):
        one.span = (0, 0)


def test_d08_what_differs_is_not_equal() -> None:
    first = extract(TEXT)
    assert first != extract(TEXT + "!")
    assert first != extract(TEXT.replace("1", "2"))
    assert first.calls[0] != first.calls[1]
    assert len(set(everything())) > 10


def test_d08_a_parser_can_be_fed_from_many_threads() -> None:
    parser = ToolCallParser()
    calls: list[Any] = []
    piece = '<tool_call>{"name": "f", "arguments": {}}</tool_call>\n'

    def work() -> None:
        for _ in range(20):
            calls.extend(event for event in parser.feed(piece) if event.type == "call_finished")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    calls.extend(event for event in parser.finish() if event.type == "call_finished")
    assert sorted(each.call.index for each in calls) == list(range(80))


def test_d08_after_an_error_a_parser_goes_on_and_after_its_end_it_does_not() -> None:
    parser = ToolCallParser()
    events = parser.feed("a")
    for wrong in (None, 5, ["b"]):
        with pytest.raises(UsageError):
            parser.feed(wrong)  # type: ignore[arg-type]
    events += parser.feed("b")
    events += parser.finish()
    assert "".join(event.text for event in events) == "ab"  # type: ignore[union-attr]
    for late in (parser.finish, lambda: parser.feed("c")):
        with pytest.raises(UsageError) as caught:
            late()
        assert caught.value.code == "finished"


def test_d08_every_dialect_is_known_by_name() -> None:
    for name in dialects():
        ToolCallParser(dialects=name)
        ToolCallParser(dialects=[name])
    with pytest.raises(UsageError) as caught:
        ToolCallParser(dialects=["hermes", "klingon"])
    assert caught.value.code == "unknown_dialect"
    assert "klingon" in caught.value.message
    assert "qwen3-coder" in (caught.value.hint or "")
