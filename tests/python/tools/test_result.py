"""What tools return, as blocks."""

import base64
import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import json
import socket
import uuid
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import pytest
from loopwright import Agent, ToolError
from loopwright.models import Call
from loopwright.testing import ScriptedModel, calls
from loopwright.tools import Image, NotSerialisable, Text, limit_text, to_content, tool
from pydantic import BaseModel
from ways import run

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 10


class Colour(enum.Enum):
    RED = "red"


class Name(str, enum.Enum):
    A = "a"


class Number(enum.IntEnum):
    ONE = 1


class Pair(NamedTuple):
    left: int
    right: str


@dataclasses.dataclass
class Point:
    x: int
    when: datetime.date = datetime.date(2024, 1, 2)


class Model(BaseModel):
    price: decimal.Decimal
    point: Point


class Shouting(str):
    def __str__(self) -> str:
        return self.upper()


def text_of(value: Any) -> str:
    blocks, truncated = to_content(value)
    assert not truncated
    assert len(blocks) == 1
    assert set(blocks[0]) == {"type", "text"}
    blocks[0]["text"].encode()
    text: str = blocks[0]["text"]
    return text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "plain"),
        ("", ""),
        ("größe 天気 😀", "größe 天気 😀"),
        ("lone \ud83d surrogate", "lone \ufffd surrogate"),
        (None, "done (no output)"),
        (True, "true"),
        (3, "3"),
        (1.5, "1.5"),
        (float("nan"), "NaN"),
        ([float("inf"), -float("inf")], '["Infinity","-Infinity"]'),
        ({"a": [1, None, "ü"]}, '{"a":[1,null,"ü"]}'),
        ({}, "{}"),
        ([], "[]"),
        ((1, 2), "[1,2]"),
        ({3, 1, 2}, "[1,2,3]"),
        (frozenset({"b", "a"}), '["a","b"]'),
        ({1: "a", None: "b", False: "c", 1.5: "d"}, '{"1":"a","null":"b","false":"c","1.5":"d"}'),
        (range(3), "[0,1,2]"),
        (collections.deque([1]), "[1]"),
        (collections.OrderedDict(b=1, a=2), '{"b":1,"a":2}'),
        (collections.ChainMap({"a": 1}), '{"a":1}'),
        ({"a": 1}.keys(), '["a"]'),
        (Colour.RED, "red"),
        (Name.A, "a"),
        (Number.ONE, "1"),
        ({Colour.RED: Colour.RED}, '{"red":"red"}'),
        (Pair(1, "b"), '{"left":1,"right":"b"}'),
        (Point(1), '{"x":1,"when":"2024-01-02"}'),
        (Model(price=decimal.Decimal("1.10"), point=Point(1)), '{"price":"1.10","point":{"x":1,"when":"2024-01-02"}}'),
        ([Model(price=decimal.Decimal(1), point=Point(2))], '[{"price":"1","point":{"x":2,"when":"2024-01-02"}}]'),
        (datetime.datetime(2024, 1, 2, 3, tzinfo=datetime.timezone.utc), "2024-01-02T03:00:00+00:00"),
        (datetime.time(1, 2), "01:02:00"),
        (datetime.timedelta(seconds=90), "0:01:30"),
        (decimal.Decimal("1.10"), "1.10"),
        (fractions.Fraction(1, 3), "1/3"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (PurePosixPath("a/b"), "a/b"),
        ({datetime.date(2024, 1, 2): Path("x")}, '{"2024-01-02":"x"}'),
        (Text("kept"), "kept"),
        ({"a\ud800": "\udc00"}, '{"a\ufffd":"\ufffd"}'),
    ],
    ids=lambda value: type(value).__name__,
)
def test_values(value: Any, text: str) -> None:
    assert text_of(value) == text


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a..", "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
    ],
)
@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview, Image])
def test_pictures(data: bytes, media_type: str, wrap: Any) -> None:
    encoded = base64.b64encode(data).decode()
    block = {"type": "image", "source": {"base64": {"media_type": media_type, "data": encoded}}}
    assert to_content(wrap(data)) == ([block], False)


def test_picture_of_a_file_and_of_a_stated_type(tmp_path: Path) -> None:
    file = tmp_path / "a b.png"
    file.write_bytes(PNG)
    assert to_content(Image(path=file))[0][0]["source"]["base64"]["media_type"] == "image/png"
    assert to_content(Image(b"raw", media_type="image/bmp"))[0][0]["source"]["base64"]["media_type"] == "image/bmp"
    for wrong in (tmp_path / "absent.png", tmp_path):
        with pytest.raises(NotSerialisable):
            to_content(Image(path=wrong))
    odd: list[dict[str, Any]] = [{}, {"data": b"", "path": "x"}]
    for settings in odd:
        with pytest.raises(ValueError, match="either"):
            Image(**settings)


def test_several_blocks() -> None:
    blocks, _ = to_content(["see:", Image(PNG), Text("and"), {"a": 1}])
    assert [block["type"] for block in blocks] == ["text", "image", "text", "text"]
    assert blocks[3]["text"] == '{"a":1}'


def circle() -> Any:
    value: dict[str, Any] = {"a": []}
    value["a"].append(value)
    return value


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def doubled(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value, value]
    return value


async def coroutine() -> None: ...


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: {"items": [1, 2, 3, socket.socket.__new__(socket.socket)]},
            r"result\['items'\]\[3\] is a socket.socket",
        ),
        (object, "result is an object"),
        (lambda: Point(x=object()), r"result\.x is an object"),  # type: ignore[arg-type]
        (lambda: Pair(1, object()), r"result\['right'\] is an object"),  # type: ignore[arg-type]
        (lambda: {(1, 2): 3}, "result has a tuple as a key"),
        (lambda: b"bytes", "result is 5 bytes of no known picture"),
        (lambda: {"a": b"bytes"}, r"result\['a'\] is a bytes"),
        (lambda: {"a": Image(PNG)}, r"result\['a'\] is a"),
        (coroutine, "result is a coroutine"),
        (lambda: (n for n in [1]), "result is a generator"),
        (lambda: iter([]), "result is a list_iterator"),
        (lambda: print, "result is a builtin_function_or_method"),
        (lambda: Point, "result is a type"),
        (lambda: range(10**12), "more than 1,000,000 values"),
        (lambda: doubled(90), "more than 1,000,000 values"),
        (lambda: 1j, "result is a complex"),
        (circle, r"result\['a'\]\[0\] holds itself"),
        (lambda: deep(100_000), "nested deeper than 100"),
        (lambda: 10**10_000, "result is a number of 33220 bits"),
        (lambda: [ValueError("x")], r"result\[0\] is a ValueError"),
        (lambda: {"k" * 5_000: object()}, "is an object"),
    ],
)
def test_what_has_no_form_is_named(make: Any, message: str) -> None:
    with pytest.raises(NotSerialisable, match=message) as caught:
        to_content(make())
    assert caught.value.code == "not_serialisable"
    assert caught.value.hint
    assert len(caught.value.message) < 500


def test_same_object_twice_is_no_circle() -> None:
    shared = [1]
    assert text_of([shared, shared]) == "[[1],[1]]"


def test_deep_but_fair() -> None:
    assert json.loads(text_of(deep(100))) == deep(100)


@pytest.mark.parametrize("limit", [50, 100, 20_000])
def test_long_text_keeps_head_and_tail(limit: int) -> None:
    text = "H" * 30_000 + "T" * 30_000
    short, cut = limit_text(text, limit)
    assert cut
    head, line, tail = short.split("\n")
    assert head == "H" * len(head)
    assert tail == "T" * len(tail)
    assert limit - 3 <= len(short) <= limit
    left_out = int("".join(each for each in line if each.isdigit()))
    assert left_out + len(head) + len(tail) == len(text)


def test_no_limit_is_passed_however_small_it_is() -> None:
    for limit in range(120):
        short, _ = limit_text("e\u0301" * 500, limit)
        assert len(short) <= limit
        assert "…" in short or not limit
        for texts in (["a" * 70] * 3, ["", "a" * 200], ["a" * 5] * 100, ["a" * 119, "b"]):
            blocks, _ = to_content([Text(each) for each in texts], max_output=max(1, limit))
            total = sum(len(block["text"]) for block in blocks)
            assert total <= max(1, limit), (limit, texts)


def test_what_was_left_out_is_told_once_and_rightly(way: str) -> None:
    """The tool's limit is held where it returns and in the machine: the second finds nothing to do."""

    @tool(max_output=200)
    def much() -> list[Any]:
        return [Text("0123456789" * 1_000), Text("more")]

    @tool
    def more() -> str:
        return "x" * 500_000

    model = ScriptedModel([calls(Call("much", {}), Call("more", {})), "done"])
    result, _ = run(Agent(model, tools=[much, more]), "go", way)
    found = [[part["text"] for part in block["content"]] for block in result.messages.to_dicts()[2]["content"]]
    for (text, *_), size in zip(found, (10_000, 500_000), strict=True):
        head, line, tail = text.split("\n")
        assert int("".join(each for each in line if each.isdigit())) + len(head) + len(tail) == size
    assert found[0][1] == "[… 4 characters left out …]"
    assert sum(map(len, found[0])) <= 200


def test_a_failure_stays_whole_however_little_a_tool_may_say(way: str) -> None:
    @tool(max_output=50)
    def fails() -> str:
        raise ToolError("no " * 5_000, hint="try " * 5_000)

    result, _ = run(Agent(ScriptedModel([calls(Call("fails", {})), "done"]), tools=[fails]), "go", way)
    (block,) = result.messages.to_dicts()[2]["content"]
    error = json.loads(block["content"][0]["text"])["error"]
    assert error == block["failure"]
    assert len(error["message"]) <= 50
    assert len(error["hint"]) <= 1_000


def test_text_at_the_limit_is_whole() -> None:
    assert limit_text("x" * 50, 50) == ("x" * 50, False)
    assert limit_text("x" * 51, 50)[1]


def test_characters_are_not_cut_from_their_marks() -> None:
    text = "e\u0301" * 1_000
    for limit in range(60, 90):
        head, _, tail = limit_text(text, limit)[0].split("\n")
        assert head.endswith("\u0301")
        assert tail.startswith("e")
    # Nothing but marks must not loop or grow.
    assert len(limit_text("\u0301" * 10_000, 100)[0]) <= 100


def test_default_limit_is_20000() -> None:
    blocks, cut = to_content("x" * 20_001)
    assert cut
    assert "left out" in blocks[0]["text"]
    assert to_content("x" * 20_000)[1] is False


def test_limit_is_shared_by_blocks() -> None:
    blocks, cut = to_content([Text("x" * 1_000) for _ in range(1_000)], max_output=5_000)
    assert cut
    assert sum(len(block["text"]) for block in blocks) < 5_200
    assert "995,000" in blocks[-1]["text"]
