"""Calls written as Python are read as Python itself reads them."""

from __future__ import annotations

import ast
import math
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from loopwright.extraction import ToolCallParser, extract

QUOTES = ("'", '"', "'''", '"""')
MARKUP = st.sampled_from(
    [
        "<|tool_call_end|>",
        "</tool_call>",
        ")]",
        "'",
        '"',
        "\\",
        "\n",
        "{",
        "}",
        "`",
        "```",
        "\\N{DASH}",
        "{x}",
        "é",
        "🚀",
        "\x00",
    ]
)
TEXTS = st.text(max_size=20) | st.lists(MARKUP | st.text(max_size=3), max_size=8).map("".join)


@st.composite
def string_literals(draw: st.DrawFn) -> str:
    """A string in one of the ways to write it: prefixes, quotes, escapes, pieces one behind the other."""
    pieces = []
    for text in draw(st.lists(TEXTS, min_size=1, max_size=3)):
        way = draw(st.integers(0, 3))
        if way == 0:
            pieces.append(repr(text))
            continue
        quote = draw(st.sampled_from(QUOTES))
        written = ""
        for character in text:
            plain = character not in "\\\r\x00" + quote[0] and (character != "\n" or len(quote) > 1)
            if plain and not draw(st.booleans()):
                written += character
            elif ord(character) < 256 and way == 1:
                written += f"\\x{ord(character):02x}"
            elif ord(character) < 256 and way == 2:
                written += f"\\{ord(character):03o}"
            else:
                written += f"\\U{ord(character):08x}"
        pieces.append(f"{draw(st.sampled_from(['', 'u', 'U']))}{quote}{written}{quote}")
    return draw(st.sampled_from([" ", "\n", "  # and\n"])).join(pieces)


NUMBERS = st.one_of(
    st.integers().map(str),
    st.integers(0, 2**256 - 1).flatmap(
        lambda number: st.sampled_from([hex(number), oct(number), bin(number), f"{number:_}"])
    ),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.sampled_from([".5", "5.", "1e5", "1_0.0_1", "+3", "-.5e-3", "00"]),
)
SCALARS = st.one_of(st.sampled_from(["None", "True", "False"]), NUMBERS, string_literals())


def containers(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    comma = st.sampled_from([",", ", ", " ,\n", ", # and\n "])
    lists = st.tuples(st.lists(inner, max_size=4), comma)
    pairs = st.tuples(st.dictionaries(st.text("abc", max_size=3), inner, max_size=4), comma)
    return st.one_of(
        lists.map(lambda pair: f"[{pair[1].join(pair[0])}]"),
        lists.map(lambda pair: f"({pair[1].join(pair[0])}{',' if pair[0] else ''})"),
        inner.map(lambda value: f"({value})"),
        pairs.map(lambda pair: "{" + pair[1].join(f"{key!r}: {value}" for key, value in pair[0].items()) + "}"),
    )


LITERALS = st.recursive(SCALARS, containers, max_leaves=12)


def as_json(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [as_json(item) for item in value]
    return {key: as_json(item) for key, item in value.items()} if isinstance(value, dict) else value


def same(one: Any, other: Any) -> bool:
    """Equal, and of the same types: `1` is neither `True` nor `1.0`."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other) and (not isinstance(one, float) or math.copysign(1, one) == math.copysign(1, other))


@given(LITERALS)
@example('\'\\x41\' r\'\\d\' """a "b" c"""')
def test_values_are_those_of_literal_eval(literal: str) -> None:
    expected = as_json(ast.literal_eval(f"(\n{literal}\n)"))
    found = extract(f"<|tool_call_start|>[f(a={literal}, b=[1])]<|tool_call_end|> ok", dialects="lfm2")
    assert [call.name for call in found.calls] == ["f"]
    assert found.calls[0].complete
    assert not found.calls[0].repaired
    arguments = found.calls[0].arguments
    assert arguments is not None
    assert same(arguments["a"], expected)
    assert arguments["b"] == [1]
    assert found.prose == " ok"


@given(LITERALS, st.integers(1, 9))
def test_cuts_change_nothing(literal: str, size: int) -> None:
    text = f"<|tool_call_start|>[f(a={literal}), g()]<|tool_call_end|>".encode()
    parser = ToolCallParser(dialects="lfm2")
    events = [event for at in range(0, len(text), size) for event in parser.feed(text[at : at + size])]
    events += parser.finish()
    calls = [event.call for event in events if event.type == "call_finished"]
    whole = extract(text, dialects="lfm2").calls
    assert [(call.name, call.arguments_json) for call in calls] == [(call.name, call.arguments_json) for call in whole]
    joined = "".join(event.text for event in events if event.type == "arguments")
    assert joined == "".join(call.arguments_json for call in calls)


@pytest.mark.parametrize(
    "expression", ["1 + 2", "g()", "x[0]", "f'{x}'", "[x for x in y]", "lambda: 1", "1j", "not 1", "b'\\xff'"]
)
def test_what_needs_computing_is_no_complete_call(expression: str) -> None:
    found = extract(f"<|tool_call_start|>[f(a={expression})]<|tool_call_end|>", dialects="lfm2")
    assert not any(call.complete for call in found.calls)
