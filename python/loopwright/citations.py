"""`check_citations`: whether a text is held by the sources that it cites, sentence by sentence.

::

    >>> check = check_citations("The wait doubles from 200 ms. [1] It ends after 9 tries. [1]",
    ...                         ["The wait doubles, from 200 ms."])
    >>> check.passed, [claim.sentence for claim in check.unsupported]
    (False, ['It ends after 9 tries.'])
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from . import _core
from ._dataclasses import asdict, dataclass, is_dataclass
from ._fields import each_of, made
from .errors import UsageError
from .result import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["CitationCheck", "Claim", "Issue", "check_citations"]


@dataclass(frozen=True, slots=True)
class Issue:
    """Something that is wrong: errors fail the text, warnings inform."""

    severity: str
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence that holds a number or a name, and the sources that it leans on, counted from 1."""

    sentence: str
    sources: tuple[int, ...]
    supported: bool


@dataclass(frozen=True, slots=True)
class CitationCheck:
    """What the check found."""

    passed: bool
    abstains: bool
    """Whether all it says is that the sources do not hold it."""
    issues: tuple[Issue, ...]
    claims: tuple[Claim, ...]
    cited: tuple[Source, ...]
    """What the text cites, each with the lines that it names."""
    feedback: str
    """What is wrong, for a model."""

    @property
    def unsupported(self) -> tuple[Claim, ...]:
        """The claims that what they cite does not hold."""
        return tuple(claim for claim in self.claims if not claim.supported)

    def __bool__(self) -> bool:
        return self.passed


def check_citations(
    text: str,
    sources: Iterable[Source | Mapping[str, Any] | str],
    *,
    question: str = "",
    profile: str = "plain",
) -> CitationCheck:
    """Holds `text` against `sources`, which it cites as `[n]`, `[path:line]` or `[path]`.

    Each citation must exist; each sentence with a number or a name must be supported by the span that it cites: the
    lines it names and those next to them, or the whole source. A source is text, a `Source`, or a mapping with `text`
    and, where there is one, `reference` (a path or an address), `line`, `kind` and `heading`. Names and numbers of the
    `question` need no source.
    """
    found = json.loads(_core.check_citations(whole(text), sources_json(sources), whole(question), profile))
    parts = {"issues": Issue, "claims": Claim, "cited": Source}
    return made(CitationCheck, found, **{name: each_of(kind, found[name]) for name, kind in parts.items()})


def whole(text: str) -> str:
    """Text that UTF-8 can carry: lone surrogates, which names of files may hold, become question marks."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def sources_json(sources: Iterable[Source | Mapping[str, Any] | str]) -> str:
    """Sources as the core reads them."""
    return json.dumps([_source(at, source) for at, source in enumerate(sources)])


def _source(at: int, source: Any) -> dict[str, Any]:
    if isinstance(source, str):
        source = {"text": source}
    elif is_dataclass(source) and not isinstance(source, type):
        source = asdict(source)
    try:
        text, line = whole(source["text"]), source.get("line", 1)
        lines = text.rstrip("\n").count("\n")
        return {
            "kind": source.get("kind", "file"),
            "reference": whole(source.get("reference") or f"source {at + 1}"),
            "line": line,
            "end_line": source.get("end_line", line + lines),
            "heading": whole(source.get("heading") or ""),
            "text": text,
            "score": source.get("score", 0.0),
        }
    except (TypeError, KeyError, AttributeError) as error:
        message = f"source {at + 1} can't be {source!r:.100}"
        raise UsageError(message, "invalid_value", "give text, a Source, or a mapping with text") from error
