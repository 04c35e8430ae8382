"""Messages: who speaks, and the blocks said, in one shape for all providers.

::

    Message.user("What is in this picture?", Image.from_path("a.png"))

All classes are frozen. What a provider wrote and we do not know survives byte for byte: arguments, blocks of
provider-side tools and fields of one wire are kept as the JSON text they came as (`arguments_json`, `raw`,
`fields_json`) and parsed only when they are looked at. Each goes back to the wire it came from, and to no other.
"""

from __future__ import annotations

import base64
import json
import os
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, cast

from . import _core
from ._any_messages import of_any, texts_of
from ._dataclasses import dataclass
from ._json import read as parsed
from ._json import written as dumped
from ._renamed import renamed
from ._repr import redacted_repr
from .errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from typing_extensions import ParamSpec, Self

    from .tools import Image as ToolImage
    from .tools import Text as ToolText

    _P = ParamSpec("_P")

__all__ = [
    "Base64",
    "Block",
    "Content",
    "Document",
    "Extra",
    "FileId",
    "Image",
    "Message",
    "PlainText",
    "ProviderBlock",
    "Role",
    "Source",
    "Text",
    "Thinking",
    "ToolFailure",
    "ToolResult",
    "ToolUse",
    "Url",
    "block_from_dict",
    "block_from_json",
    "block_to_json",
]

Role = Literal["system", "developer", "user", "assistant"]
Form = Literal["auto", "text", "parts"]

_ROLES = ("system", "developer", "user", "assistant")
_FORMS = ("auto", "text", "parts")
_LARGEST_FILE = 32 * 1024 * 1024

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Extra:
    """Fields of one wire that have no place in the common shape: citations, cache markers and the like."""

    wire: str
    """The wire they came from, and the only one they go back to."""
    fields_json: str
    """The fields, as JSON text of an object."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "wire", self.wire.replace("-", "_"))

    @property
    def fields(self) -> dict[str, Any]:
        """The fields, parsed."""
        found: dict[str, Any] = parsed(self.fields_json, "the fields of a wire")
        return found

    @classmethod
    def of(cls, wire: str, fields: Mapping[str, Any]) -> Extra:
        """Fields to send to `wire`: `Extra.of("anthropic", {"cache_control": {"type": "ephemeral"}})`."""
        return cls(wire, dumped(dict(fields), "the fields of a wire"))


@dataclass(frozen=True, slots=True)
class Text:
    """Prose."""

    text: str
    extra: Extra | None = None

    def to_block(self) -> dict[str, Any]:
        """The canonical form, parsed: what a tool's result is made of."""
        return _block_dict(self)


@dataclass(frozen=True, slots=True)
class Base64:
    """Bytes inside the message."""

    media_type: str
    data: str
    """The bytes in base64."""

    def __repr__(self) -> str:
        return f"Base64({self.media_type!r}, {len(self.data)} characters)"


@dataclass(frozen=True, slots=True)
class PlainText:
    """Plain text inside the message."""

    media_type: str
    data: str


@dataclass(frozen=True, slots=True)
class Url:
    """An address that the provider fetches."""

    url: str


@dataclass(frozen=True, slots=True)
class FileId:
    """A file uploaded to the provider before."""

    id: str


Source: TypeAlias = Base64 | PlainText | Url | FileId


def _source_at(url: object) -> Source:
    """Where the bytes of an address are; an error if no provider can fetch them from there."""
    scheme, _, rest = url.partition(":") if isinstance(url, str) else ("", "", "")
    if scheme.lower() in ("http", "https") and len(rest.strip("/ ")) > 0:
        return Url(str(url))
    if scheme.lower() == "data":
        return _carried(rest)
    message = f"no provider can fetch {url!r:.100}: an address begins with https:// or http://"
    raise UsageError(message, "invalid_source", "give such an address, or the file itself (from_path, from_bytes)")


def _carried(rest: str) -> Source:
    """What stands behind `data:`."""
    from urllib.parse import unquote_to_bytes

    head, comma, data = rest.partition(",")
    media_type, *parameters = head.split(";")
    found = unquote_to_bytes(data)
    try:
        if "base64" in parameters:
            found = base64.b64decode(found, validate=True)
        if comma and found and media_type.startswith("text/"):
            return PlainText(media_type, found.decode())
    except ValueError:
        found = b""
    if not (comma and found and media_type):
        message = "the data: URL holds no bytes of a known type"
        raise UsageError(message, "invalid_source", "write data:image/png;base64,…, or use from_bytes or from_path")
    return Base64(media_type, base64.b64encode(found).decode())


@dataclass(frozen=True, slots=True)
class _Media:
    source: Source
    """Where the bytes are: `Base64`, `PlainText`, `Url` or `FileId`."""
    name: str | None = None
    """The file's name, where one is known."""
    extra: Extra | None = None

    @property
    def media_type(self) -> str | None:
        """The MIME type, where the bytes are in the message."""
        return self.source.media_type if isinstance(self.source, (Base64, PlainText)) else None

    @property
    def data(self) -> bytes | None:
        """The bytes, where they are in the message."""
        if isinstance(self.source, PlainText):
            return self.source.data.encode("utf-8", "surrogatepass")
        if isinstance(self.source, Base64):
            try:
                return base64.b64decode(self.source.data, validate=True)
            except ValueError as error:
                message = f"the data of {type(self).__name__} is no base64: {error}"
                raise UsageError(
                    message,
                    "invalid_base64",
                    "give data as base64.b64encode makes it, or the bytes themselves to from_bytes",
                ) from None
        return None

    @property
    def url(self) -> str | None:
        """The address, where there is one."""
        return self.source.url if isinstance(self.source, Url) else None

    def to_block(self) -> dict[str, Any]:
        """The canonical form, parsed: what a tool's result is made of."""
        return _block_dict(cast("Block", self))

    @classmethod
    def from_url(cls, url: str, *, name: str | None = None) -> Self:
        """What the provider fetches from `url`, at `https:` or `http:`; a `data:` URL is the bytes themselves."""
        return cls(_source_at(url), name)

    @classmethod
    def from_file_id(cls, id: str, *, name: str | None = None) -> Self:
        """A file uploaded to the provider before."""
        return cls(FileId(id), name)


@dataclass(frozen=True, slots=True)
class Image(_Media):
    """A picture."""

    @classmethod
    def from_bytes(cls, data: bytes, media_type: str | None = None, *, name: str | None = None) -> Image:
        """A picture from its bytes; PNG, JPEG, GIF and WebP are told by their first ones."""
        from .tools._result import image_type

        found = media_type or image_type(data)
        if found is None:
            message = "these bytes are no picture that a model can see"
            raise UsageError(message, "not_an_image", "PNG, JPEG, GIF or WebP; or give media_type")
        return cls(_inline(data, found), name)

    @classmethod
    def from_path(cls, path: str | os.PathLike[str], media_type: str | None = None) -> Image:
        """A picture from a file, which is read now."""
        try:
            return cls.from_bytes(_read(path, "picture"), media_type)
        except UsageError as error:
            if error.code == "not_an_image":
                error.message = f"the file {os.fspath(path)!r} is no picture that a model can see"
            raise


@dataclass(frozen=True, slots=True)
class Document(_Media):
    """A document: PDF, text and the like."""

    @classmethod
    def from_bytes(cls, data: bytes, media_type: str | None = None, *, name: str | None = None) -> Document:
        """A document from its bytes; a PDF is told by its first ones, others by their name or as text."""
        found = media_type or _document_type(data, name)
        if found is None:
            message = "these bytes are neither a PDF nor text"
            raise UsageError(message, "unknown_document", "give media_type")
        text = _text_of(data) if _is_text(found) else None
        return cls(_inline(data, found) if text is None else PlainText(found, text), name)

    @classmethod
    def from_path(cls, path: str | os.PathLike[str], media_type: str | None = None) -> Document:
        """A document from a file, which is read now; it keeps the file's name."""
        return cls.from_bytes(_read(path, "document"), media_type, name=os.path.basename(os.fspath(path)))  # noqa: PTH119

    @classmethod
    def from_text(cls, text: str, *, name: str | None = None, media_type: str = "text/plain") -> Document:
        """A document of plain text."""
        return cls(PlainText(media_type, text), name)


@dataclass(frozen=True, slots=True)
class Thinking:
    """Reasoning. It goes back only to the wire it came from, and only with its signature."""

    text: str = ""
    """What may be read of it."""
    signature: str | None = None
    """The provider's proof: Anthropic's signature, OpenAI's encrypted content."""
    redacted: str | None = None
    """Reasoning that the provider encrypted whole."""
    extra: Extra | None = None


@renamed(id="call_id", input_json="arguments_json", input="arguments")
@dataclass(frozen=True, slots=True)
class ToolUse:
    """The model asks for a tool of ours."""

    call_id: str
    """The provider's id, which the result repeats."""
    name: str
    arguments_json: str = "{}"
    """The arguments, as the model wrote them."""
    invalid: str | None = None
    """What the model wrote instead of JSON; `arguments_json` is `{}` then."""
    extra: Extra | None = None

    @property
    def arguments(self) -> Any:
        """The arguments, parsed."""
        return parsed(self.arguments_json, f"the arguments of {self.name!r}")

    @classmethod
    def of(cls, call_id: str, name: str, arguments: Any) -> ToolUse:
        """A tool use with arguments from Python."""
        return cls(call_id, name, dumped(arguments, f"the arguments of {name!r}"))


@dataclass(frozen=True, slots=True)
class ToolFailure:
    """Why a tool gave no result. `kind` is `invalid_arguments`, `unknown_tool`, `denied`, `timeout`, `cancelled`,
    `exception`, `unavailable`, `not_serialisable` or `not_run`.
    """

    kind: str
    message: str
    hint: str | None = None


@renamed(id="call_id")
@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool of ours gave: text, images, documents; never another result."""

    call_id: str
    """The id of the tool use."""
    name: str = ""
    content: tuple[Block, ...] = ()
    form: Form = "auto"
    """How the content was written on its wire: a bare string or parts."""
    is_error: bool = False
    failure: ToolFailure | None = None
    """Why it failed, where we know; `content` holds the same for the model."""
    extra: Extra | None = None

    def __post_init__(self) -> None:
        content = _blocks(self.content)
        if any(isinstance(block, ToolResult) for block in content):
            message = "a tool result can't hold another one"
            raise UsageError(message, "invalid_block", "put them beside each other in one message")
        object.__setattr__(self, "content", content)

    @property
    def text(self) -> str:
        """All text of the result."""
        return _prose(self.content)

    @classmethod
    def failed(cls, call_id: str, name: str, failure: ToolFailure) -> ToolResult:
        """A failure; the model reads it as `{"error": {"kind", "message", "hint"}}`."""
        shown = Text(f'{{"error":{_failure_json(failure)}}}')
        return cls(call_id, name, (shown,), is_error=True, failure=failure)


@dataclass(frozen=True, slots=True)
class ProviderBlock:
    """A block that only its provider understands: provider-side tools, and what is new."""

    wire: str
    """The wire it came from, and the only one it goes back to."""
    raw: str
    """The block as its wire wrote it: JSON text."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "wire", self.wire.replace("-", "_"))

    @property
    def value(self) -> Any:
        """The block, parsed."""
        return parsed(self.raw, "a provider's block", infinite=True)

    @property
    def kind(self) -> str:
        """The block's own `type`."""
        value = self.value
        kind = value.get("type") if isinstance(value, dict) else None
        return kind if isinstance(kind, str) else ""


Block: TypeAlias = Text | Image | Document | Thinking | ToolUse | ToolResult | ProviderBlock
Content: TypeAlias = "str | Block | ToolImage | ToolText | Mapping[str, Any]"
"""What may stand where blocks are wanted: a block, text, or a block in the canonical form. Pictures as tools return
them (`loopwright.Image`) are welcome too."""

_KINDS: dict[type, str] = {
    Text: "text",
    Image: "image",
    Document: "document",
    Thinking: "thinking",
    ToolUse: "tool_use",
    ToolResult: "tool_result",
    ProviderBlock: "provider",
}


@dataclass(frozen=True, slots=True)
class Message:
    """Who speaks, and the blocks said, in order; `host` gave what is for that host alone, such as reasoning."""

    role: Role
    content: tuple[Block, ...]
    form: Form = "auto"
    """How the content was written on its wire: a bare string or parts."""
    extra: Extra | None = None
    host: str | None = None

    def __post_init__(self) -> None:
        if self.role not in _ROLES:
            message = f"there is no role {self.role!r}"
            raise UsageError(message, "unknown_role", f"use {', '.join(_ROLES)}")
        if self.form not in _FORMS:
            message = f"there is no form {self.form!r}"
            raise UsageError(message, "invalid_value", f"use {', '.join(_FORMS)}")
        object.__setattr__(self, "content", _blocks(self.content))

    @classmethod
    def user(cls, *content: Content) -> Message:
        """What a person says: text and blocks."""
        return cls("user", content)  # type: ignore[arg-type]

    @classmethod
    def assistant(cls, *content: Content) -> Message:
        """What a model says."""
        return cls("assistant", content)  # type: ignore[arg-type]

    @classmethod
    def system(cls, *content: Content) -> Message:
        """Instructions."""
        return cls("system", content)  # type: ignore[arg-type]

    @classmethod
    def developer(cls, *content: Content) -> Message:
        """Instructions, as newer OpenAI models name them."""
        return cls("developer", content)  # type: ignore[arg-type]

    @property
    def text(self) -> str:
        """All prose, without reasoning, calls and results."""
        return _prose(self.content)

    @property
    def tool_uses(self) -> list[ToolUse]:
        """The tool uses, in order."""
        return [block for block in self.content if isinstance(block, ToolUse)]

    @property
    def tool_results(self) -> list[ToolResult]:
        """The tool results, in order."""
        return [block for block in self.content if isinstance(block, ToolResult)]

    def to_json(self) -> str:
        """The canonical form, as journals hold it."""
        blocks = ",".join(map(_block_json, self.content))
        form = "" if self.form == "auto" else f',"form":"{self.form}"'
        host = "" if self.host is None else f',"host":{_string(self.host)}'
        text = f'{{"role":"{self.role}","content":[{blocks}]{form}{extra_json(self.extra)}{host}}}'
        return checked(_core.canonical_message, text)

    @classmethod
    def from_json(cls, text: str | bytes) -> Message:
        """A message from the canonical form."""
        return _message(dict(_core.json_members(checked(_core.canonical_message, decoded(text)))))

    def to_dict(self) -> dict[str, Any]:
        """The canonical form, parsed. Numbers that Python writes in another way are no longer as they were written."""
        found: dict[str, Any] = parsed(self.to_json(), "a message")
        return found

    def keys(self) -> list[str]:
        """With `message[key]`: a message reads like its canonical form, so that `dict(message)` is that form."""
        return list(self.to_dict())

    def __getitem__(self, key: str) -> Any:
        return self.to_dict()[key]

    @classmethod
    def from_dict(cls, message: Mapping[str, Any]) -> Message:
        """A message from the canonical form, parsed."""
        if isinstance(message.get("content"), str):
            text = "the content of a message is a list of blocks, and this one is a text"
            raise UsageError(text, "invalid_value", "make one with Message(role, text), or read a provider's with wire")
        return cls.from_json(dumped(dict(message), "a message"))

    def to_wire(self, wire: str) -> str:
        """The message as an element of the history of `wire`, or several, separated by commas."""
        return _core.encode_message(wire, self.to_json())


def block_to_json(block: Block) -> str:
    """The canonical form of a block."""
    return checked(_core.canonical_block, _block_json(block))


def _block_dict(block: Block) -> dict[str, Any]:
    found: dict[str, Any] = parsed(block_to_json(block), "a block")
    return found


def block_from_json(text: str | bytes) -> Block:
    """A block from its canonical form."""
    return _block(checked(_core.canonical_block, decoded(text)))


def block_from_dict(block: Mapping[str, Any]) -> Block:
    """A block from its canonical form, parsed."""
    return block_from_json(dumped(dict(block), "a block"))


def message_of(message: object) -> Message:
    """A message, or one in the canonical form."""
    if isinstance(message, Message):
        return message
    if isinstance(message, dict):
        return Message.from_dict(message)
    shown = f"a message is a Message or a dict in the canonical form, not {type(message).__name__}"
    raise UsageError(shown, "invalid_messages", "give Message.user('…'), or a dict with role and content")


def messages_json(messages: Iterable[Any]) -> str:
    """The canonical form of messages, as a list."""
    return f"[{','.join(texts_of(of_any(messages), message_of))}]"


def prompt_of(prompt: object) -> Message:
    """The message for a prompt: text, a block, several, or a message."""
    if isinstance(prompt, Message):
        return prompt
    if isinstance(prompt, dict) and "role" in prompt:
        return Message.from_dict(prompt)
    content = tuple(prompt) if isinstance(prompt, (list, tuple)) else (prompt,)
    if any(isinstance(each, Message) or (isinstance(each, dict) and "role" in each) for each in content):
        message = "a prompt is one message, and its parts are text and blocks; this list holds whole messages"
        raise UsageError(message, "invalid_prompt", "give the last one as the prompt, those before it as messages=[…]")
    try:
        return Message("user", content)
    except UsageError as error:
        if error.code == "invalid_block":
            error.code = "invalid_prompt"
        raise


# Reading. All text below has been checked and written anew by Rust: every member is there where it must be.


def _message(members: dict[str, str]) -> Message:
    return Message(
        json.loads(members["role"]),
        tuple(_block(element) for element in _core.json_elements(members["content"])),
        _member(members, "form", "auto"),
        _extra(members),
        _member(members, "host", None),
    )


def _block(text: str) -> Block:
    members = dict(_core.json_members(text))
    return _READERS[members["type"]](members)


def _tool_result(members: dict[str, str]) -> ToolResult:
    return ToolResult(
        json.loads(members["id"]),
        _member(members, "name", ""),
        tuple(_block(element) for element in _core.json_elements(members["content"])),
        _member(members, "form", "auto"),
        "is_error" in members,
        ToolFailure(**json.loads(members["failure"])) if "failure" in members else None,
        _extra(members),
    )


def _tool_use(members: dict[str, str]) -> ToolUse:
    return ToolUse(
        json.loads(members["id"]),
        json.loads(members["name"]),
        members["input"],
        _member(members, "invalid", None),
        _extra(members),
    )


def _thinking(members: dict[str, str]) -> Thinking:
    signature, redacted = _member(members, "signature", None), _member(members, "redacted", None)
    return Thinking(json.loads(members["text"]), signature, redacted, _extra(members))


def _media(members: dict[str, str]) -> tuple[Source, str | None, Extra | None]:
    source: Source
    ((kind, value),) = json.loads(members["source"]).items()
    if kind == "base64":
        source = Base64(**value)
    elif kind == "text":
        source = PlainText(**value)
    else:
        source = Url(value) if kind == "url" else FileId(value)
    return source, _member(members, "name", None), _extra(members)


# By the JSON text of their `type`.
_READERS: dict[str, Callable[[dict[str, str]], Block]] = {
    '"text"': lambda members: Text(json.loads(members["text"]), _extra(members)),
    '"image"': lambda members: Image(*_media(members)),
    '"document"': lambda members: Document(*_media(members)),
    '"thinking"': _thinking,
    '"tool_use"': _tool_use,
    '"tool_result"': _tool_result,
    '"provider"': lambda members: ProviderBlock(json.loads(members["wire"]), members["raw"]),
}


def _extra(members: dict[str, str]) -> Extra | None:
    extra = dict(_core.json_members(members.get("extra", "{}")))
    return Extra(json.loads(extra["wire"]), extra["fields"]) if extra else None


def _member(members: dict[str, str], key: str, otherwise: _T) -> Any | _T:
    return json.loads(members[key]) if key in members else otherwise


# Writing.


def _block_json(block: Block) -> str:
    kind = _KINDS[type(block)]
    if isinstance(block, Text):
        body = f',"text":{_string(block.text)}'
    elif isinstance(block, (Image, Document)):
        body = f',"source":{_source_json(block.source)}{_optional("name", block.name)}'
    elif isinstance(block, Thinking):
        proof = _optional("signature", block.signature) + _optional("redacted", block.redacted)
        body = f',"text":{_string(block.text)}{proof}'
    elif isinstance(block, ToolUse):
        called = f',"id":{_string(block.call_id)},"name":{_string(block.name)}'
        body = f'{called},"input":{_raw(block.arguments_json, "arguments")}{_optional("invalid", block.invalid)}'
    elif isinstance(block, ToolResult):
        body = _tool_result_json(block)
    else:
        return f'{{"type":"provider","wire":{_string(block.wire)},"raw":{_raw(block.raw, "block")}}}'
    return f'{{"type":"{kind}"{body}{extra_json(block.extra)}}}'


def _tool_result_json(block: ToolResult) -> str:
    body = [f',"id":{_string(block.call_id)},"name":{_string(block.name)}']
    body.append(f',"content":[{",".join(map(_block_json, block.content))}],"form":{_string(block.form)}')
    if block.is_error:
        body.append(',"is_error":true')
    if block.failure is not None:
        body.append(f',"failure":{_failure_json(block.failure)}')
    return "".join(body)


def _failure_json(failure: ToolFailure) -> str:
    said = f'"kind":{_string(failure.kind)},"message":{_string(failure.message)}'
    return f"{{{said}{_optional('hint', failure.hint)}}}"


def _source_json(source: object) -> str:
    if isinstance(source, (Base64, PlainText)):
        kind = "base64" if isinstance(source, Base64) else "text"
        return f'{{"{kind}":{{"media_type":{_string(source.media_type)},"data":{_string(source.data)}}}}}'
    if isinstance(source, Url):
        return f'{{"url":{_string(source.url)}}}'
    if isinstance(source, FileId):
        return f'{{"file":{_string(source.id)}}}'
    message = f"a source is Base64, PlainText, Url or FileId, not {type(source).__name__}"
    raise UsageError(message, "invalid_value", "wrap the data in one of these")


def extra_json(extra: object) -> str:
    if extra is None:
        return ""
    if not isinstance(extra, Extra):
        message = f"`extra` is an Extra, not {type(extra).__name__}"
        raise UsageError(message, "invalid_value", "make one with Extra.of(wire, fields)")
    return f',"extra":{{"wire":{_string(extra.wire)},"fields":{_raw(extra.fields_json, "fields")}}}'


def _optional(key: str, value: str | None) -> str:
    return "" if value is None else f',"{key}":{_string(value)}'


def _string(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _raw(text: object, what: str) -> str:
    # Checked alone: text that is no JSON by itself must not become part of something else.
    if not isinstance(text, str):
        message = f"{what} must be JSON text, not {type(text).__name__}"
        raise UsageError(message, "invalid_value", "give the text that json.dumps makes of it")
    checked(_core.check_json, text, what)
    return text


def checked(function: Callable[_P, _T], *arguments: _P.args, **named: _P.kwargs) -> _T:
    """Calls a function of the core with text that may not be UTF-8."""
    try:
        return function(*arguments, **named)
    except UnicodeEncodeError:
        message = "the text holds half of a character (a lone surrogate), which no UTF-8 can carry"
        raise UsageError(message, "invalid_text", "decode its bytes with errors='replace'") from None


def decoded(text: str | bytes) -> str:
    if isinstance(text, str):
        return text
    try:
        return bytes(text).decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"this is no UTF-8: {error}"
        raise UsageError(
            message, "invalid_value", "decode the bytes with the encoding that they have, and give text"
        ) from None


def _blocks(content: object) -> tuple[Block, ...]:
    if isinstance(content, (list, tuple)):
        return tuple(_as_block(each) for each in content)
    return (_as_block(content),)


def _as_block(block: object) -> Block:
    if type(block) in _KINDS:
        return cast("Block", block)
    if isinstance(block, str):
        return Text(block)
    if isinstance(block, dict):
        return block_from_dict(block)
    to_block = getattr(block, "to_block", None)
    if to_block is not None:
        return block_from_dict(to_block())
    from .tools import Text as ToolText

    if isinstance(block, ToolText):
        return Text(block.text)
    message = f"a message is made of text and blocks, not {type(block).__name__}"
    raise UsageError(message, "invalid_block", "use text, the classes of loopwright.messages, or canonical dicts")


def _prose(content: tuple[Block, ...]) -> str:
    return "".join(block.text for block in content if isinstance(block, Text))


def _inline(data: bytes, media_type: str) -> Base64:
    if len(data) > _LARGEST_FILE:
        message = f"{len(data):,} bytes or more are too much for a message"
        raise UsageError(message, "too_large", f"at most {_LARGEST_FILE:,} bytes; or give a URL or a file id")
    return Base64(media_type, base64.b64encode(data).decode("ascii"))


def _read(path: str | os.PathLike[str], what: str) -> bytes:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - pathlib is not loaded otherwise
            return file.read(_LARGEST_FILE + 1)
    except OSError as error:
        message = f"the {what} {os.fspath(path)!r} can't be read: {error.strerror or error}"
        raise UsageError(message, "unreadable_file", "give the path of a file") from None


def _document_type(data: bytes, name: str | None) -> str | None:
    if data.startswith(b"%PDF-"):
        return "application/pdf"
    if name is not None:
        import mimetypes

        guessed = mimetypes.guess_type(name)[0]
        if guessed is not None:
            return guessed
    text = _text_of(data)
    return None if text is None or "\0" in text else "text/plain"


_WRITTEN = frozenset(
    """
    ecmascript graphql javascript json json5 jsonl node sql toml typescript x-csh x-httpd-php x-javascript
    x-ndjson x-perl x-php x-python x-ruby x-sh x-shellscript x-sql x-tcl x-tex x-texinfo x-toml x-typescript x-yaml xml
    xml-dtd yaml
    """.split()  # noqa: SIM905  (a page of quotes reads worse)
)
"""Kinds of `application/` that people write as text."""


def _is_text(media_type: str) -> bool:
    kind, _, name = media_type.lower().partition(";")[0].strip().partition("/")
    return kind == "text" or (kind == "application" and (name in _WRITTEN or name.endswith(("+json", "+xml", "+yaml"))))


def _text_of(data: bytes) -> str | None:
    """The text in UTF-8, or in UTF-16 that says so; `None` for other bytes."""
    wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    try:
        return data.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError:
        return None


redacted_repr(Extra, Text, PlainText, Url, Thinking, ToolUse, ToolFailure, ToolResult, ProviderBlock, Message)
