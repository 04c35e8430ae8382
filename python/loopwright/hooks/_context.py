"""What a hook is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from loopwright._dataclasses import dataclass, field
from loopwright._json import read_shown
from loopwright._renamed import read_under, renamed, under_new_names
from loopwright.messages import Message

if TYPE_CHECKING:
    from collections.abc import Callable
    from functools import cached_property

    from typing_extensions import TypeVar as DefaultedTypeVar

    from loopwright import _core
    from loopwright._stop_reason import StopReason
    from loopwright.result import Messages, Usage

    Shown = DefaultedTypeVar("Shown", default=Any, covariant=True)  # noqa: PLC0105
    """The subject; any, where nothing is said of it."""
else:
    # The default means nothing at run time.
    Shown = TypeVar("Shown", covariant=True)  # noqa: PLC0105

    class cached_property:  # noqa: N801 - that of `functools`, whose lock (up to Python 3.11) costs more than all else
        """What is worked out when it is first asked for, and kept in the object."""

        def __init__(self, function: Any) -> None:
            self.function = function
            self.__doc__ = function.__doc__

        def __get__(self, owner: Any, _: Any = None) -> Any:
            if owner is None:
                return self
            value = owner.__dict__[self.function.__name__] = self.function(owner)
            return value


__all__ = [
    "AnswerSubject",
    "AssessmentSubject",
    "CallSubject",
    "DecisionSubject",
    "HookContext",
    "PromptSubject",
    "RequestSubject",
    "ResponseSubject",
    "ResultSubject",
    "RoundSubject",
    "Spent",
    "Subject",
]


@dataclass(frozen=True)
class Spent:
    """What the run has used so far."""

    iterations: int
    """Requests to the model."""
    tool_rounds: int
    approvals: int
    usage: Usage
    cost: float | None
    """Money for the tokens, where the prices are known."""


@dataclass(frozen=True)
class PromptSubject:
    """`pre_assess`: the newest message."""

    message: Message

    @property
    def text(self) -> str:
        """Its prose."""
        return self.message.text


@dataclass(frozen=True)
class AssessmentSubject:
    """`post_assess`: what the words of the prompt say of its intent."""

    decision: str
    confidence: float
    signals: list[str]
    evidence: list[list[str]] = field(default_factory=list)
    """Signals, each with the words that gave it."""
    question: str | None = None
    """What to ask the person, where something should be asked."""
    sub_agents: list[str] = field(default_factory=list)
    """The sub-agents that fit, of those that there are."""


@dataclass(frozen=True)
class RoundSubject:
    """`pre_reason`: a round that is about to begin, and the messages so far."""

    round: int
    messages: int


@dataclass(frozen=True)
class DecisionSubject:
    """`post_reason`: what was decided about a reply, by which rule, its prose, and the tools it calls."""

    decision: str
    rule: str
    text: str
    calls: list[str]


class RequestSubject:
    """`pre_llm`, `around_model`: a request to the model."""

    __slots__ = ("_request",)

    def __init__(self, request: _core.Request) -> None:
        self._request = request

    @property
    def model(self) -> str:
        """The model's name."""
        return self._request.model

    @property
    def system(self) -> str | None:
        """The instructions before the history."""
        return self._request.system

    @property
    def messages(self) -> Messages:
        """The history."""
        from loopwright.result import Messages

        return Messages(self._request.messages)

    @property
    def text(self) -> str:
        """The text of the last message."""
        return self._request.last_text

    def to_dict(self) -> dict[str, Any]:
        """The whole request in the canonical form."""
        found: dict[str, Any] = read_shown(self._request.to_json())
        return found

    def to_wire(self, wire: str) -> str:
        """The body as a wire wants it."""
        return self._request.to_wire(wire)

    def __repr__(self) -> str:
        return f"<RequestSubject {self.model}: {len(self.messages)} messages>"


class ResponseSubject:
    """`post_llm`: an answer of the model, before anything is made of it."""

    def __init__(self, response: dict[str, Any]) -> None:
        self._response = response

    @cached_property
    def message(self) -> Message:
        """What the model said, calls included."""
        return Message.from_dict(self._response["message"])

    @property
    def text(self) -> str:
        """Its prose."""
        return _prose(self._response["message"]["content"])

    @property
    def calls(self) -> list[str]:
        """The tools that it calls, by name."""
        return [block["name"] for block in self._response["message"]["content"] if block["type"] == "tool_use"]

    @property
    def stop(self) -> str:
        """Why it ended."""
        stop = self._response["stop"]
        return stop if isinstance(stop, str) else str(next(iter(stop.values())))

    @property
    def usage(self) -> Usage:
        """The tokens of this answer."""
        from loopwright.result import Usage

        return Usage(**under_new_names(Usage, self._response["usage"]))

    @property
    def model(self) -> str:
        """The model, as the provider names it."""
        return str(self._response.get("model", ""))

    def __repr__(self) -> str:
        return f"<ResponseSubject {self.stop}: {len(self.text)} characters>"


@renamed(id="call_id")
@dataclass(frozen=True)
class CallSubject:
    """`pre_tool`, `around_tool`: a call that is to run."""

    call_id: str
    name: str
    arguments: dict[str, Any]


class ResultSubject:
    """`post_tool`: what a call gave."""

    def __init__(self, call: dict[str, Any], result: dict[str, Any]) -> None:
        self._result = result
        self.call_id: str = call["id"]
        self.name: str = call["name"]
        self.arguments: dict[str, Any] = call["input"]

    @property
    def text(self) -> str:
        """The text of the result."""
        return _prose(self._result["content"])

    @property
    def is_error(self) -> bool:
        """Whether the call failed."""
        return bool(self._result.get("is_error", False))

    @cached_property
    def message(self) -> Message:
        """A message that holds the result alone, with all its blocks."""
        return Message.from_dict({"role": "user", "content": [{"type": "tool_result", **self._result}]})

    def __repr__(self) -> str:
        return f"<ResultSubject {self.name}: {len(self.text)} characters>"


read_under(ResultSubject, id="call_id")


def _prose(content: list[dict[str, Any]]) -> str:
    return "".join(block["text"] for block in content if block["type"] == "text")


@dataclass(frozen=True)
class AnswerSubject:
    """`pre_output`, `post_output`, `pre_reflect`, `post_reflect`: the answer of the run, or the draft it leaves."""

    text: str
    stop_reason: StopReason


Subject: TypeAlias = (
    PromptSubject
    | AssessmentSubject
    | RoundSubject
    | DecisionSubject
    | RequestSubject
    | ResponseSubject
    | CallSubject
    | ResultSubject
    | AnswerSubject
)


class HookContext(Generic[Shown]):
    """What a hook may know: its stage, the run, and the subject (`HookContext[CallSubject]` says its type). What is not
    looked at costs nothing.
    """

    stage: str
    run_id: str
    deps: Any
    """What the run was given as `deps`."""
    agent: str | None
    """The name of the sub-agent at whose stage it is asked; `None` where that is the run's own."""
    path: str | None
    """Which of the run's children that is: `explore`, `explore#2`, `lead/explore`."""

    def __init__(
        self,
        stage: str,
        run_id: str,
        deps: Any,
        *,
        command: _core.Command | None = None,
        subject: Subject | None = None,
        clock: Callable[[], float] | None = None,
        agent: str | None = None,
        path: str | None = None,
        round: int = 0,  # noqa: A002 - the name hooks read
    ) -> None:
        self.stage = stage
        self.run_id = run_id
        self.deps = deps
        self.agent = agent
        self.path = path
        self._command = command
        self._clock = clock
        self._round = round
        if subject is not None:
            self.__dict__["subject"] = subject

    @property
    def round(self) -> int:
        """The round, from 1; 0 before the first."""
        return (self._command.round or 0) if self._command is not None else self._round

    @cached_property
    def elapsed(self) -> float:
        """Seconds since the run's start, when it is first asked for."""
        return self._clock() if self._clock is not None else 0.0

    @cached_property
    def spent(self) -> Spent:
        """What the run had used when the hooks of the stage were asked, all its sub-agents included."""
        from loopwright.result import Usage

        spent = dict((self._command.spent if self._command is not None else None) or {})
        spent["usage"] = Usage(**under_new_names(Usage, spent.get("usage", {})))
        empty = {"iterations": 0, "tool_rounds": 0, "approvals": 0, "cost": None}
        return Spent(**{**empty, **spent})

    @cached_property
    def subject(self) -> Shown:
        """What it is about: a subject of this module, which one says the stage."""
        assert self._command is not None  # noqa: S101 - without a command there is a subject
        return subject_of(self._command)  # type: ignore[return-value]

    def __repr__(self) -> str:
        whose = self.run_id if self.path is None else f"{self.path} in {self.run_id}"
        return f"<HookContext {self.stage} of {whose}>"


def subject_of(command: _core.Command) -> Subject:
    """The subject of a `hook` command."""
    request = command.request
    if request is not None:
        return RequestSubject(request)
    kind, found = next(iter(read_shown(command.subject or "{}").items()))
    if kind == "prompt":
        return PromptSubject(Message.from_dict(found["message"]))
    if kind == "assessment":
        return AssessmentSubject(**found)
    if kind == "round":
        return RoundSubject(**found)
    if kind == "decision":
        return DecisionSubject(**found)
    if kind == "response":
        return ResponseSubject(found["response"])
    if kind == "answer":
        return AnswerSubject(found["text"], found["stop"])
    call = found["call"]
    if kind == "call":
        return CallSubject(call["id"], call["name"], call["input"])
    return ResultSubject(call, found["result"])
