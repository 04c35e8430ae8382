"""Tools as a parser is told of them: every shape there is, every schema there may be, and what is none is named."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, get_args

import pytest
from loopwright import UsageError, _core, tool
from loopwright.extraction import ProblemKind, ToolCallParser, extract, extract_json, repair_json
from loopwright.tools import SchemaError
from pydantic import BaseModel, WithJsonSchema

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"x": {"type": "string"}}}
WRITTEN = "<function=f>\n<parameter=x>\n1\n</parameter>\n</function>"


class Definition(BaseModel):
    """A tool as a client of MCP holds it: `schema` is a method of its own."""

    name: str
    inputSchema: dict[str, Any]  # noqa: N815


@pytest.mark.parametrize(
    "tools",
    [
        {"f": SCHEMA},
        [("f", SCHEMA)],
        [{"name": "f", "input_schema": SCHEMA}],
        [{"name": "f", "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True}}],
        [{"type": "function", "function": {"name": "f", "parameters": SCHEMA}}],
        [{"type": "function", "name": "f", "parameters": SCHEMA, "strict": True}],
        [{"toolSpec": {"name": "f", "inputSchema": {"json": SCHEMA}}}],
        [Definition(name="f", inputSchema=SCHEMA)],
        [SimpleNamespace(name="f", schema=SCHEMA)],
        (each for each in [("f", SCHEMA)]),
    ],
)
def test_d08_definitions_of_every_maker_are_taken(tools: Any) -> None:
    assert extract(WRITTEN, tools).calls[0].arguments == {"x": "1"}


@pytest.mark.parametrize("tools", [["f"], ("f",), {"f"}, {"f": {}}, {"f": True}, {"f": None}, [{"name": "f"}]])
def test_d08_a_tool_of_which_nothing_is_said_takes_anything(tools: Any) -> None:
    assert extract(WRITTEN, tools).calls[0].arguments == {"x": 1}


def test_d08_one_definition_is_no_list_of_them() -> None:
    for one in ({"name": "f", "parameters": SCHEMA}, {"type": "function", "function": {"name": "f"}}):
        with pytest.raises(UsageError, match="tools are a list"):
            extract(WRITTEN, one)


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ({"properties": 5}, "#/properties"),
        ({"type": "zzz"}, "#/type"),
        ({"required": "a"}, "#/required"),
        ({"properties": {"a": {"type": ["string", "zzz"]}}}, "#/properties/a/type/1"),
        ({"properties": {"a": {"$ref": "#/$defs/none"}}}, "#/properties/a/$ref"),
        ({"properties": {"a/b": {"$ref": "#/properties/a~1b"}}}, "#/properties/a~1b/$ref"),
        ({"$ref": "#"}, "#/$ref"),
    ],
)
def test_d08_a_schema_that_is_none_is_named_with_tool_and_place(schema: Any, place: str) -> None:
    for make in (
        lambda: ToolCallParser({"look_up": schema}),
        lambda: extract("x", [{"name": "look_up", "parameters": schema}]),
        lambda: extract("x", [SimpleNamespace(name="look_up", schema=schema)]),
    ):
        with pytest.raises(UsageError) as caught:
            make()
        assert caught.value.code == "invalid_tool"
        assert "look_up" in caught.value.message
        assert f"at {place}:" in caught.value.message
        assert caught.value.hint
    with pytest.raises(UsageError) as caught:
        extract_json("{}", schema)
    assert caught.value.code == "invalid_schema"
    assert f"at {place}:" in caught.value.message


def test_d08_a_tool_whose_types_bring_a_schema_that_is_none_is_refused() -> None:
    def look_up(x: Annotated[int, WithJsonSchema({"type": "zzz"})]) -> None:
        """Look up."""

    made = tool(look_up)
    with pytest.raises(SchemaError, match="#/properties/x/type"):
        _ = made.schema


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "https://example.org/other.json"},
        {"$defs": {"a": {"properties": {"next": {"$ref": "#/$defs/a"}}}}, "$ref": "#/$defs/a"},
        {"definitions": {"x y": {"type": "string"}}, "properties": {"x": {"$ref": "#/definitions/x%20y"}}},
        {"properties": {"x": {"anyOf": [{"type": "string"}, {"type": "null"}], "nullable": True}}},
        {"properties": {"x": True}, "additionalProperties": False, "x-unknown": {"type": "zzz"}},
        {"type": ["object", "null"], "properties": {"x": {"const": {"type": "zzz"}}}},
    ],
)
def test_d08_whatever_a_schema_may_say_is_taken(schema: Any) -> None:
    assert extract(WRITTEN, {"f": schema}).calls[0].complete


class Text(str):
    """Text of one's own."""

    __slots__ = ()


def test_d08_text_comes_in_every_shape() -> None:
    data = WRITTEN.encode()
    for text in (WRITTEN, Text(WRITTEN), data, bytearray(data), memoryview(data), memoryview(data + data)[: len(data)]):
        assert extract(text).calls[0].name == "f"
    for wrong in (None, 5, [WRITTEN], object()):
        with pytest.raises(UsageError, match="str or bytes"):
            extract(wrong)  # type: ignore[arg-type]
    parser = ToolCallParser()
    with pytest.raises(UsageError):
        parser.feed(None)  # type: ignore[arg-type]
    assert [event.text for event in parser.feed("still here")] == ["still here"]  # type: ignore[union-attr]


def test_kinds_of_problems_are_the_same_in_rust_in_python_and_in_the_docs() -> None:
    kinds = get_args(ProblemKind)
    assert list(kinds) == _core.problem_kinds()
    docs = Path(__file__).parents[2] / "docs"
    table = (docs / "extraction.md").read_text("utf-8").split("## Problems\n")[1].split("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == list(kinds)


def test_repair_json_takes_bytes() -> None:
    assert repair_json(b"{'a': 1,}") == repair_json("{'a': 1,}") == repair_json(memoryview(b"{'a': 1,}"))
    with pytest.raises(UsageError, match="no UTF-8 at byte 2"):
        repair_json(b'["\xff"]')
    with pytest.raises(UsageError, match="not int"):
        repair_json(3)  # type: ignore[arg-type]


def test_a_parser_that_was_fed_reads_no_whole_text() -> None:
    parser = ToolCallParser()
    parser.feed("a")
    with pytest.raises(UsageError, match="this parser was fed") as caught:
        parser.whole("b")
    assert caught.value.code == "in_use"
    assert [event.text for event in [*parser.feed("b"), *parser.finish()]] == ["b"]  # type: ignore[union-attr]
