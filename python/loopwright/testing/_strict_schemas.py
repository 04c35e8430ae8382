"""What providers take of JSON schema, by their documentation, and how a rule says where it is documented.

A rule that is broken raises `Refused`; `documented` names the page, the type or the recording that says so.
"""

# ruff: noqa: PLR2004 - the numbers are the documented ones, and stand nowhere else.

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

__all__ = ["Refused", "anthropic_schema", "documented", "openai_schema", "refuse"]

LIMITS = "platform.claude.com/docs/en/build-with-claude/structured-outputs (schema complexity limits)"
LOOKS = re.compile(r"\(\?<?[=!]")
FORMATS = {"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}


class Refused(Exception):
    """What a provider says against a request, and the page that says it will."""

    def __init__(self, words: str, source: str = "", *, param: str | None = None, code: str | None = None) -> None:
        super().__init__(words)
        self.source = source
        self.param = param
        self.code = code


def refuse(wrong: object, words: str, **fields: Any) -> None:
    if wrong:
        raise Refused(words, **fields)


def documented(source: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Names the page on which what a rule refuses is documented."""

    def of_rule(rule: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(rule)
        def checked(*given: Any, **named: Any) -> None:
            try:
                rule(*given, **named)
            except Refused as refused:
                refused.source = refused.source or source
                raise
            except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
                words = f"the request is not of the documented shape: {type(error).__name__}: {error}"
                raise Refused(words, source) from error

        return checked

    return of_rule


# ---- schemas ----


def _walk(schema: dict[str, Any], defs: dict[str, Any], where: str) -> Iterator[tuple[dict[str, Any], str]]:
    refuse(not isinstance(schema, dict), f"{where}: a schema must be an object, not {schema!r}")
    yield schema, where
    for name, inner in schema.get("properties", {}).items():
        yield from _walk(inner, defs, f"{where}.{name}")
    for key in ("anyOf", "allOf"):
        for at, inner in enumerate(schema.get(key, [])):
            yield from _walk(inner, defs, f"{where}.{key}[{at}]")
    if "items" in schema:
        yield from _walk(schema["items"], defs, f"{where}[]")
    for key in ("$defs", "definitions"):
        for name, inner in schema.get(key, {}).items():
            yield from _walk(inner, defs, f"{where}.{key}.{name}")


def _definitions(schema: dict[str, Any]) -> dict[str, Any]:
    return {f"#/{key}/{name}": each for key in ("$defs", "definitions") for name, each in schema.get(key, {}).items()}


def _circles(schema: dict[str, Any], defs: dict[str, Any]) -> bool:
    def spoken(one: dict[str, Any]) -> set[str]:
        bare = {key: value for key, value in one.items() if key not in ("$defs", "definitions")}
        return {part["$ref"] for part, _ in _walk(bare, defs, "") if "$ref" in part}

    def visit(name: str, above: tuple[str, ...]) -> bool:
        return name in above or any(visit(next_, (*above, name)) for next_ in spoken(defs[name]))

    return "#" in spoken(schema) or any(visit(name, ()) for name in spoken(schema))


STRUCTURE = {"type", "enum", "const", "anyOf", "$ref", "$defs", "definitions", "title", "description"}


@documented(
    "platform.claude.com/docs/en/build-with-claude/structured-outputs (JSON Schema limitations); "
    "anthropics/anthropic-sdk-python: src/anthropic/lib/_parse/_transform.py"
)
def anthropic_schema(schema: dict[str, Any], where: str, also: Collection[str] = ()) -> None:
    """The limitations that Anthropic documents for structured outputs and strict tools; `also` is taken there too."""
    defs = _definitions(schema)
    optional = unions = 0
    for part, at in _walk(schema, defs, where):
        if "$ref" in part:
            refuse(part["$ref"] not in defs, f"{at}: external $ref is not supported")
            refuse(len(part) > 1, f"{at}: nothing may stand beside $ref")
            continue
        kind = part.get("type")
        refuse(not {"type", "enum", "const", "anyOf", "allOf"} & part.keys(), f"{at}: a schema must have a type")
        refuse(
            kind is not None
            and kind not in ("object", "array", "string", "integer", "number", "boolean", "null")
            and not isinstance(kind, list),
            f"{at}: unknown type {kind}",
        )
        allowed = {*STRUCTURE, "allOf", "default", *also}
        if kind == "object":
            allowed |= {"properties", "required", "additionalProperties"}
            refuse(
                part.get("additionalProperties") is not False,
                f"{at}: For 'object' type, 'additionalProperties' must be explicitly set to false",
            )
            optional += len(set(part.get("properties", ())) - set(part.get("required", ())))
        elif kind == "array":
            allowed |= {"items", "minItems"}
            refuse(
                part.get("minItems", 0) not in (0, 1),
                f"{at}: For 'array' type, 'minItems' values other than 0 or 1 are not supported",
            )
        elif kind == "string" or (isinstance(kind, list) and "string" in kind):
            allowed |= {"format", "pattern"}
            refuse("format" in part and part["format"] not in FORMATS, f"{at}: format {part.get('format')}")
            refuse(
                re.search(LOOKS.pattern + r"|\\[bB1-9]", part.get("pattern", "")),
                f"{at}: pattern {part.get('pattern')}",
            )
        for key in part:
            refuse(key not in allowed, f"{at}: For '{kind}' type, property '{key}' is not supported")
        plain = [*part.get("enum", ()), *([part["const"]] if "const" in part else [])]
        refuse(any(isinstance(value, (dict, list)) for value in plain), f"{at}: complex values in enum")
        unions += "anyOf" in part or isinstance(kind, list)
        refuse("allOf" in part and any("$ref" in one for one in part["allOf"]), f"{at}: allOf with $ref")
    refuse(_circles(schema, defs), f"{where}: recursive schemas are not supported")
    many = f"{LIMITS}; elie222/inbox-zero#2323"
    refuse(optional > 24, f"{where}: too many optional parameters ({optional})", source=many)
    refuse(unions > 16, f"{where}: too many union types ({unions})", source=f"{LIMITS}; ENTERPILOT/GoModel#963")


@documented(
    "developers.openai.com/api/docs/guides/structured-outputs (supported schemas); "
    "openai/openai-python: src/openai/lib/_pydantic.py; "
    "pydantic/pydantic-ai: pydantic_ai_slim/pydantic_ai/profiles/openai.py; vercel/ai#6484, dottxt-ai/outlines#1666"
)
def openai_schema(schema: dict[str, Any], where: str) -> None:
    """The subset that OpenAI documents for strict schemas."""
    defs = _definitions(schema)
    refuse(schema.get("type") != "object", f"Invalid schema for {where}: schema must be of type object")
    properties = values = 0
    for part, at in _walk(schema, defs, where):
        if "$ref" in part:
            refuse(part["$ref"] not in defs and part["$ref"] != "#", f"{at}: reference can't be resolved")
            refuse(len(part) > 1, f"{at}: $ref cannot have keywords {sorted(part)}")
            continue
        kind = part.get("type")
        allowed = set(STRUCTURE)
        refuse(not {"type", "enum", "const", "anyOf"} & part.keys(), f"{at}: schema must have a 'type' key")
        if kind == "object":
            allowed |= {"properties", "required", "additionalProperties"}
            refuse(
                part.get("additionalProperties") is not False,
                f"{at}: 'additionalProperties' is required to be supplied and to be false",
            )
            refuse(
                sorted(part.get("required", ())) != sorted(part.get("properties", ())),
                f"{at}: 'required' is required to be supplied and to be an array including every key in properties",
            )
            properties += len(part.get("properties", ()))
        elif kind == "array":
            allowed |= {"items", "prefixItems", "minItems", "maxItems"}
            refuse(not {"items", "prefixItems"} & part.keys(), f"{at}: array schema missing items")
        elif kind == "string":
            allowed |= {"format", "pattern"}
            refuse("format" in part and part["format"] not in FORMATS - {"uri"}, f"{at}: format")
            refuse(LOOKS.search(part.get("pattern", "")), f"{at}: lookaround is not supported")
        elif kind in ("integer", "number"):
            allowed |= {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
        for key in part:
            refuse(key not in allowed, f"{at}: '{key}' is not permitted")
        values += len(part.get("enum", ()))
    refuse(properties > 5000 or values > 1000, f"{where}: too large")
