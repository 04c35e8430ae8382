"""What servers send, as values that a tool may return: text, data, pictures. All of it was written by others."""

from __future__ import annotations

import base64
import binascii
import json
from typing import TYPE_CHECKING, Any

from loopwright.cli.text import clean
from loopwright.tools._result import Image, Text, image_type

from ._installed import McpError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["plain", "result_of", "shown", "text_of"]

_NOTHING = "done (no output)"


def result_of(name: str, result: Any) -> Any:
    """What a call gave: text, data, or a list of texts and pictures. Raises `McpError` where the server says that it
    failed (`tool_failed`).
    """
    blocks = [shown(block) for block in result.content]
    if result.is_error:
        said = "\n".join(each.text for each in blocks if isinstance(each, Text))
        if not said and result.structured_content is not None:
            said = json.dumps(result.structured_content, ensure_ascii=False)
        said = said or "the server gives no reason"
        message = f"{name}: {said}"
        raise McpError(message, "tool_failed")
    data = result.structured_content
    if data is not None:
        # The specification has servers repeat it as text, for clients that know no structure.
        blocks = [each for each in blocks if not _repeats(each, data)]
        if not blocks:
            return data["result"] if isinstance(data, dict) and list(data) == ["result"] else data
        blocks = [Text(json.dumps(data, ensure_ascii=False, separators=(",", ":"))), *blocks]
    if not blocks:
        return _NOTHING
    if len(blocks) == 1 and isinstance(blocks[0], Text):
        return blocks[0].text
    return blocks


def _repeats(block: Text | Image, data: Any) -> bool:
    if not isinstance(block, Text):
        return False
    try:
        said = json.loads(block.text)
    except (ValueError, RecursionError):
        said = block.text
    # A tool that gives a text or a list is wrapped as {"result": ...}.
    return bool(said == data or (isinstance(data, dict) and list(data.values()) == [said]))


def shown(block: Any) -> Text | Image:
    """A block of content as a model may see it; what it can't see is named."""
    kind = getattr(block, "type", "")
    if kind == "text":
        return Text(block.text)
    if kind == "image":
        return _picture(block.data) or Text(f"[a picture of the type {plain(block.mime_type)} that can't be shown]")
    if kind == "audio":
        return Text(f"[sound of the type {plain(block.mime_type)}, {len(block.data) * 3 // 4:,} bytes, not shown]")
    if kind == "resource_link":
        about = f": {plain(block.description)}" if block.description else ""
        return Text(f"[{plain(block.title or block.name)}, at {plain(str(block.uri))}{about}]")
    if kind == "resource":
        return _resource(block.resource)
    return Text(f"[content of an unknown kind: {plain(str(kind))}]")


def _resource(resource: Any) -> Text | Image:
    text = getattr(resource, "text", None)
    if text is not None:
        return Text(f"[{plain(str(resource.uri))}]\n{text}")
    size = len(resource.blob) * 3 // 4
    kind = plain(resource.mime_type or "unknown")
    return _picture(resource.blob) or Text(f"[{plain(str(resource.uri))}: {size:,} bytes of the type {kind}]")


def _picture(data: str) -> Image | None:
    """A picture by its own first bytes: what a server calls it says nothing."""
    try:
        decoded = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None
    kind = image_type(decoded)
    return None if kind is None else Image(decoded, media_type=kind)


def plain(text: str) -> str:
    """Text on one line, without characters that nobody can see, cut."""
    return " ".join(clean(text).split())[:300]


def text_of(contents: Sequence[Any]) -> str:
    """The text of the parts of a resource."""
    return "\n".join(each.text for each in contents if getattr(each, "text", None))
