"""Questions to a person: what is shown, and what counts as a yes."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Literal

from ._dataclasses import dataclass, field
from ._renamed import renamed
from ._repr import redacted_repr

if TYPE_CHECKING:
    from collections.abc import Mapping

    from . import _core

__all__ = ["LEVELS", "Approval", "Edit", "Remembered", "Returned", "approval_of", "decision_of"]

LEVELS = ("safe", "cautious", "confirm", "dangerous")
"""The levels of risk, in order."""
Kind = Literal["approval", "external", "in_doubt"]
"""What a call waits for."""
_HALVES = re.compile("[\ud800-\udfff]")


@renamed(tool="name")
@dataclass(frozen=True)
class Approval:
    """A call that waits for a person. `expires_in` is in seconds, and silence until then is a no; it is `None` where
    the run was left until somebody answers.
    """

    name: str
    arguments: Any
    risk: str
    why: str
    call_id: str
    expires_in: float | None
    rules: tuple[str, ...] = ()
    """The rules that decided that a person is asked."""
    part: str | None = None
    """The part of the call that decided."""
    span: tuple[int, int] | None = None
    """Its bytes in the shell line."""
    touches: tuple[str, ...] = ()
    """What it would touch, in words."""
    secret: bool = False
    """Whether it holds a secret that would leave."""
    keeps: str | None = None
    """What a yes will be kept for, in words; `Approvals` says it."""
    request_id: int | None = None
    """Its number among the requests of `Approvals`."""
    hash: str | None = field(default=None, repr=False)
    """What binds a decision to this very call."""
    around: tuple[str | None, str | None] = field(default=(None, None), repr=False)
    """The home folder and the workspace."""
    agent: str | None = None
    """The sub-agent that wants it, or the agent that the run was handed over to; `None` where the run's own does."""
    path: str | None = None
    """Which of the run's children."""
    links: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The symbolic links among the paths that it names, by their absolute paths, and the variables of its line
    (`/$NAME`), each with where it leads."""
    kind: Kind = "approval"
    """What it waits for: a person's word, the result of work that is done elsewhere (`external`), or a person who knows
    whether a call took effect that had started when the run broke off (`in_doubt`)."""

    @property
    def shown(self) -> str:
        r"""The call for whoever is asked: the tool, and each argument on lines of its own, with what nobody can see
        written out (`\u{202e}`). `arguments` are what would run.
        """
        arguments = self.arguments
        if not isinstance(arguments, dict):
            arguments = {"arguments": arguments}
        text = {name: value if isinstance(value, str) else _json(value) for name, value in arguments.items()}
        # What a value goes on with is no argument of its own.
        told = [f"{name}: {value}".replace("\n", "\n    ") for name, value in text.items()]
        return visible("\n".join([self.name, *told]))

    @classmethod
    def of(
        cls,
        command: _core.Command,
        now: float,
        around: tuple[str | None, str | None] = (None, None),
        who: tuple[str | None, str | None] = (None, None),
        ends: float | None = None,
        led: Mapping[str, Any] | None = None,
    ) -> Approval:
        """The question of an `approve` command; `who` names the sub-agent that wants it, `ends` when its time is up,
        `led` says what its links make of it.
        """
        from .guard._guard import in_words

        call = command.calls[0]
        judged = command.judged or {}
        risk, why = command.risk or "dangerous", command.why or ""
        # Another question than whether it may run holds a `part` of a result, and no links.
        led = None if judged.get("by") == "sensitivity" else led
        if led is not None:
            reached = led["judged"]
            secret = judged.get("secret", False) or reached.get("secret", False)
            if led["stricter"] and judged.get("by") not in ("quotation", "origin"):
                judged, why = reached, reached["why"]
            else:
                judged, why = {**judged, "touches": reached.get("touches", ())}, f"{led['leads']}; {why}"
            judged = {**judged, "secret": secret}
            risk = max(risk, reached["risk"], key=LEVELS.index)
        span = judged.get("span")
        return cls(
            name=call.name,
            arguments=call.arguments,
            risk=risk,
            why=why,
            call_id=call.call_id,
            expires_in=in_words(max(0.0, (ends if ends is not None else command.at or 0.0) - now)),
            rules=tuple(judged.get("rules", ())),
            part=judged.get("part"),
            span=None if span is None else (span["start"], span["end"]),
            touches=tuple(judged.get("touches", ())),
            secret=judged.get("secret", False),
            hash=command.hash,
            around=around,
            links=led["links"] if led is not None else {},
            agent=who[0],
            path=who[1],
        )


def visible(text: str) -> str:
    r"""A text with what a person can't see written out: `\u{202e}`."""
    from . import _core

    return _core.visible(_HALVES.sub(lambda half: f"\\u{{{ord(half[0]):x}}}", text))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


@dataclass(frozen=True)
class Edit:
    """An answer: the call with these arguments instead. It is judged anew, and asked about again if need be."""

    arguments: Any


@dataclass(frozen=True)
class Remembered:
    """An answer: a yes that was kept from before, in words."""

    what: str


@dataclass(frozen=True)
class Returned:
    """What a call of `result.pending` of the kind `external` or `in_doubt` gave: any value that a tool may return, or
    an exception for one that failed.
    """

    value: Any


def approval_of(data: Mapping[str, Any]) -> Approval:
    """A question of a run that was left, from plain data."""
    several = {name: tuple(data[name] or ()) for name in ("rules", "touches", "around")}
    span = None if data["span"] is None else tuple(data["span"])
    return Approval(**{**data, **several, "span": span})


def is_answer(answer: object) -> bool:
    """Whether an answer is a decision that a journal can hold."""
    if isinstance(answer, Edit):
        try:
            text = json.dumps(answer.arguments, ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError):
            return False
        return isinstance(answer.arguments, dict) and not _HALVES.search(text)
    return isinstance(answer, bool) or (isinstance(answer, str) and bool(answer.strip()) and not _HALVES.search(answer))


def is_yes(answer: object) -> bool:
    """Whether an answer lets the very call run that was asked about."""
    try:
        return not isinstance(answer, BaseException) and decision_of(answer)[0] in ("allow", "remembered")
    except Exception:  # noqa: BLE001 - what can't be understood is a no
        return False


def decision_of(answer: object) -> tuple[str, str | None, str | None]:
    """What an approver's answer means: the decision, a reason, new arguments.

    Only `True`, `"allow"` and `"once"` are a yes; what is not understood is a no.
    """
    if answer is True or (isinstance(answer, str) and answer in ("allow", "once")):
        return "allow", None, None
    if isinstance(answer, Remembered):
        return "remembered", answer.what, None
    if isinstance(answer, Edit):
        return "edit", None, json.dumps(answer.arguments, allow_nan=False)
    if answer == "abort":
        return "abort", None, None
    if answer is False or answer is None or answer == "deny":
        return "deny", "the person said no", None
    if isinstance(answer, str):
        return "deny", answer, None
    return "deny", f"the answer {answer!r} is no decision", None


redacted_repr(Approval, Edit, Remembered, Returned)
