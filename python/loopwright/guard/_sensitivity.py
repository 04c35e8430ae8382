"""What a text holds that not everybody may see, and the text without it.

::

    found = classify_sensitivity(text, source="browser")
    if found.level is SensitivityLevel.SECRET:
        log.warning("withheld: %s", redact(text))

A text is classed by the strictest of what the detectors find in it and of the label of where it came from.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import TYPE_CHECKING

from loopwright import _core
from loopwright._dataclasses import dataclass
from loopwright.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "Redacted",
    "Sensitivity",
    "SensitivityHit",
    "SensitivityLevel",
    "classify_sensitivity",
    "redact",
    "redact_json",
    "redact_with_hits",
    "sensitivity_detectors",
]

_HALVES = re.compile("[\ud800-\udfff]")


class SensitivityLevel(IntEnum):
    """Who may see a text, in order."""

    PUBLIC = 0
    """Anybody: its source says so, and no detector denies it."""
    NORMAL = 1
    """Who works with it. What nothing is known of is this."""
    SENSITIVE = 2
    """Who must: it belongs to persons."""
    SECRET = 3
    """Nobody who does not hold it already: it opens something."""


@dataclass(frozen=True, slots=True)
class SensitivityHit:
    """One find of a detector."""

    detector: str
    """Its name, as `github-token`."""
    level: SensitivityLevel
    span: tuple[int, int]
    """The first character and the one behind the last: `text[slice(*hit.span)]` is the find."""
    why: str
    """What it is, for people."""


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """The class of a text, and what led to it."""

    level: SensitivityLevel
    """The strictest of the label and of all hits."""
    hits: tuple[SensitivityHit, ...]
    """The finds, in order; none overlaps another."""
    label: SensitivityLevel | None = None
    """What the label of the source said, if there was one."""


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without its hits, and what they were."""

    text: str
    hits: tuple[SensitivityHit, ...]
    """What was replaced, with spans in the text as it was given."""

    def __str__(self) -> str:
        return self.text


def classify_sensitivity(
    text: str,
    source: SensitivityLevel | str | None = None,
    *,
    labels: Mapping[str, SensitivityLevel | str] | None = None,
) -> Sensitivity:
    """Classes a text by what it holds and by where it came from.

    Args:
        text: Any text.
        source: A level, or the name of what gave the text: a tool, say. Text is public only if this says so.
        labels: What the texts of a source are at least, by its name. A source without a label has none.

    >>> found = classify_sensitivity("postgres://app:tr0ub4dor&3@db.internal/orders")
    >>> found.level.name, found.hits[0].detector, found.hits[0].span
    ('SECRET', 'url-password', (15, 26))
    >>> classify_sensitivity("The release is on Friday.").level.name
    'NORMAL'
    >>> classify_sensitivity("The release is on Friday.", "public").level.name
    'PUBLIC'
    >>> classify_sensitivity("nothing special", "crm", labels={"crm": "sensitive"}).level.name
    'SENSITIVE'
    """
    name = source.name.lower() if isinstance(source, SensitivityLevel) else source
    if name is not None and not isinstance(name, str):
        message = f"source is {type(source).__name__}, not a level or the name of a source"
        raise UsageError(message, code="invalid_value", hint="give a SensitivityLevel, a text, or nothing")
    given = {key: _label(key, level) for key, level in (labels or {}).items()}
    level, label, hits = _core.classify_sensitivity(_whole(text), name, given or None)
    return Sensitivity(_level(level), _hits(hits), None if label is None else _level(label))


def redact(text: str) -> str:
    """The text without its hits at or above `SENSITIVE`: each becomes a mark that names its detector.

    The result holds no hit, and redacting it again changes nothing. A text without hits comes back as it is.

    >>> redact('curl -H "Authorization: Bearer r4Nd0mT0k3nV4lu3x9Qz7LpWm2"')
    'curl -H "Authorization: Bearer [redacted:bearer-token]"'
    """
    return _core.redact(_whole(text))


def redact_with_hits(text: str) -> Redacted:
    """The text without its hits, and what was replaced.

    >>> done = redact_with_hits("mail grace.hopper@navy.mil about it")
    >>> done.text, [hit.detector for hit in done.hits]
    ('mail [redacted:mail-address] about it', ['mail-address'])
    """
    whole = _whole(text)
    redacted, hits = _core.redact_with_hits(whole)
    return Redacted(redacted, _hits(hits))


def redact_json(text: str) -> str:
    """JSON, or lines of JSON as a journal has, without its hits; it stays JSON.

    A redacted journal is for reading: it no longer replays.

    >>> redact_json('{"db_password": "tr0ub4dor&3", "host": "db.internal"}')
    '{"db_password": "[redacted:assigned-secret]", "host": "db.internal"}'
    """
    return _core.redact_json(_whole(text))


def sensitivity_detectors() -> list[tuple[str, SensitivityLevel, str]]:
    """All detectors: the name, the level of its hits, what a hit is."""
    return [(name, _level(level), why) for name, level, why in _core.sensitivity_detectors()]


def _label(source: str, level: SensitivityLevel | str) -> str:
    name = level.name if isinstance(level, SensitivityLevel) else level
    if not isinstance(name, str) or name.upper() not in SensitivityLevel.__members__:
        message = f"the label of {source!r} is {level!r:.100}, which is no level"
        known = ", ".join(known.name.lower() for known in SensitivityLevel)
        raise UsageError(message, code="unknown_level", hint=f"give one of {known}")
    return name.lower()


def _level(name: str) -> SensitivityLevel:
    return SensitivityLevel[name.upper()]


def _hits(found: list[tuple[str, str, int, int, str]]) -> tuple[SensitivityHit, ...]:
    return tuple(SensitivityHit(name, _level(level), (start, end), why) for name, level, start, end, why in found)


def _whole(text: str) -> str:
    """The text with halves of characters replaced, one for one."""
    if not isinstance(text, str):
        message = f"text is {type(text).__name__}, not a text"
        raise UsageError(message, code="invalid_value", hint="give a str; decode bytes first")
    try:
        text.encode()
    except UnicodeEncodeError:
        return _HALVES.sub("\ufffd", text)
    return text
