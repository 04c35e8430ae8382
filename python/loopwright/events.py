"""What happens while a run goes on, for whoever wants to watch: `async for event in agent.stream(...)`.

Text that streams is a draft: it has not been verified, and after a `Reset` it is void. The last event is always
`RunFinished`.

Each event has a number, `event_id`, that only grows within its run. `to_dict(event)` gives it as plain data for JSON,
`from_dict` makes it an event again; what a newer version may tell survives both as `UnknownEvent`. The list of all
events, with their fields, is `docs/events.md`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, cast, get_args

from . import _renamed
from ._core import ArgumentsDelta, ProviderDelta, ReasoningDelta, TextDelta, ToolUseDelta
from ._dataclasses import dataclass, field
from ._renamed import names_before, read_under, renamed, under_new_names
from ._repr import redacted_repr

if TYPE_CHECKING:
    from ._stop_reason import StopReason
    from .result import Result
    from .roles import SanityResult

__all__ = [
    "AgentFinished",
    "AgentStarted",
    "ApprovalDecided",
    "ApprovalRequested",
    "ArgumentsDelta",
    "Assessed",
    "CallJudged",
    "ChildText",
    "Compacted",
    "Draft",
    "Event",
    "GoalDrifted",
    "HandedOff",
    "HookAnswered",
    "HookFailed",
    "IntentAssessed",
    "MemoryRecalled",
    "ModelChosen",
    "Paused",
    "PhaseFinished",
    "PhaseStarted",
    "ProviderDelta",
    "ReasoningDelta",
    "RequestHeld",
    "Reset",
    "Resumed",
    "Retry",
    "RoleAnswered",
    "RoleFailed",
    "RoundFinished",
    "RoundStarted",
    "RunFinished",
    "SanityChecked",
    "SearchCompleted",
    "SearchStarted",
    "Status",
    "Summarized",
    "Supervised",
    "TextDelta",
    "Told",
    "ToolFinished",
    "ToolProgress",
    "ToolStarted",
    "ToolUseDelta",
    "ToolsLoaded",
    "UnknownEvent",
    "Warned",
    "from_dict",
    "to_dict",
]


@dataclass(frozen=True)
class Told:
    """What all events but the pieces of answers have in common."""

    agent: str | None = field(default=None, kw_only=True, repr=False)
    """The name of the sub-agent that tells it; nothing where the run itself does."""
    path: str | None = field(default=None, kw_only=True, repr=False)
    """Which of the run's children that is: `explore`, `explore#2`, `lead/explore`."""
    event_id: ClassVar[int] = 0
    """The event's number. It only grows, and is the same when the event is read from the journal."""

    def to_dict(self) -> dict[str, Any]:
        """The event as plain data for JSON."""
        return to_dict(self)  # type: ignore[arg-type]


@dataclass(frozen=True)
class RoundStarted(Told):
    """A request goes to the model; `round` counts from 1."""

    type: ClassVar[Literal["round_started"]] = "round_started"
    round: int
    model: str


@dataclass(frozen=True)
class RoundFinished(Told):
    """An answer is in; `duration` in seconds, all attempts included."""

    type: ClassVar[Literal["round_finished"]] = "round_finished"
    round: int
    duration: float
    usage: dict[str, int]
    provider_tool_uses: int


@dataclass(frozen=True)
class HandedOff(Told):
    """Another agent goes on with the run from here: `by` has handed it over `to` that one."""

    type: ClassVar[Literal["handed_off"]] = "handed_off"
    by: str
    to: str


@dataclass(frozen=True)
class RequestHeld(Told):
    """A request waits for its turn at its host. Nothing was sent, so no attempt is counted and no time limit of the
    request runs yet; the run's own time goes on.
    """

    type: ClassVar[Literal["request_held"]] = "request_held"
    host: str
    """The host and its port."""
    reason: str
    """The limit that it waits for: `concurrency`, `requests_per_minute`, `tokens_per_minute`; or `provider`, where the
    provider has said that nothing is left."""
    seconds: float | None
    """Seconds that it waits at least, where that is known."""


@dataclass(frozen=True)
class Retry(Told):
    """The same request will be sent again in `delay` seconds."""

    type: ClassVar[Literal["retry"]] = "retry"
    round: int
    attempt: int
    delay: float
    reason: str


@dataclass(frozen=True)
class Reset(Told):
    """What was shown of this answer is void; it comes again from its beginning."""

    type: ClassVar[Literal["reset"]] = "reset"
    round: int


@renamed(id="call_id", input="arguments")
@dataclass(frozen=True)
class ToolStarted(Told):
    """A tool begins."""

    type: ClassVar[Literal["tool_started"]] = "tool_started"
    call_id: str
    name: str
    arguments: Any
    round: int


@renamed(id="call_id")
@dataclass(frozen=True)
class ToolProgress(Told):
    """A tool reports progress with `Context.emit`."""

    type: ClassVar[Literal["tool_progress"]] = "tool_progress"
    call_id: str
    name: str
    text: str


@renamed(id="call_id")
@dataclass(frozen=True)
class ToolFinished(Told):
    """A tool is done."""

    type: ClassVar[Literal["tool_finished"]] = "tool_finished"
    call_id: str
    name: str
    round: int
    is_error: bool
    excerpt: str
    duration: float

    @property
    def error(self) -> BaseException | None:
        """What was raised in the call, as in `ToolCall.error`; `None` in events that were read from a journal."""
        return self.__dict__.get("_exception")

    def __getstate__(self) -> dict[str, Any]:
        """The event as copies and other processes get it."""
        return {each: value for each, value in self.__dict__.items() if each != "_exception"}


@renamed(id="call_id")
@dataclass(frozen=True)
class SearchStarted(Told):
    """A search begins, ours or the provider's, `at` seconds after the run began. Of the provider's it is told while its
    answer streams, or behind an answer that does not; `query` is empty where it is not known by then.
    """

    type: ClassVar[Literal["search_started"]] = "search_started"
    call_id: str
    round: int
    query: str
    at: float


@renamed(id="call_id")
@dataclass(frozen=True)
class SearchCompleted(Told):
    """A search is done, ours or the provider's; `count` of them so far. `error` is what went wrong with it, `results`
    how many came, where that is known. `call_id` and `at` are as in `SearchStarted`.
    """

    type: ClassVar[Literal["search_completed"]] = "search_completed"
    round: int
    query: str
    count: int
    error: str | None = None
    call_id: str = ""
    results: int | None = None
    at: float | None = None


@renamed(id="call_id")
@dataclass(frozen=True)
class CallJudged(Told):
    """The guard has judged a call, before anything of its reply ran: what it saw, and which rules decided."""

    type: ClassVar[Literal["call_judged"]] = "call_judged"
    call_id: str
    name: str
    verdict: str
    risk: str
    by: str
    rules: list[str]
    why: str
    part: str | None = None
    span: dict[str, int] | None = None
    touches: list[str] = field(default_factory=list)
    secret: bool = False


@renamed(id="call_id")
@dataclass(frozen=True)
class ApprovalRequested(Told):
    """A person is asked whether a call may run."""

    type: ClassVar[Literal["approval_requested"]] = "approval_requested"
    call_id: str
    name: str
    risk: str
    expires: int


@renamed(id="call_id")
@dataclass(frozen=True)
class ApprovalDecided(Told):
    """A person, or the clock, has decided."""

    type: ClassVar[Literal["approval_decided"]] = "approval_decided"
    call_id: str
    allowed: bool
    reason: str


@dataclass(frozen=True)
class Compacted(Told):
    """The history no longer fitted into the model's window: request `round` is made of less. Nothing is lost.

    `kept`, `shortened`, `referenced`, `summarised` and `dropped` say of how many messages (`messages`) with how many
    tokens (`before`, `after`). `reason` is `full`, or `refused` where the provider found the request too long.
    """

    type: ClassVar[Literal["compacted"]] = "compacted"
    round: int
    reason: str
    before: int
    after: int
    budget: int
    kept: dict[str, int]
    shortened: dict[str, int]
    referenced: dict[str, int]
    summarised: dict[str, int]
    dropped: dict[str, int]
    repaired: int
    first_changed: int | None


@dataclass(frozen=True)
class Assessed(Told):
    """What was decided about a reply or a round, the rule that decided, and what it saw.

    `decision` is `continue`, `complete`, `pause_for_input`, `pause_for_confirm`, `pause_check`, `limit` or `stuck`;
    `tell` where the model is told that it repeats itself, `slow` where too little succeeds.
    """

    type: ClassVar[Literal["assessed"]] = "assessed"
    round: int
    decision: str
    rule: str
    saw: str


@dataclass(frozen=True)
class IntentAssessed(Told):
    """How the request is best taken up, by its words: advice, which stops nothing unless the run acts on it
    (`Monitor(intent="act")`).

    `decision` is `ask_first`, `plan_with_rollback`, `parallelize`, `delegate` or `direct`; `evidence` pairs signals
    with the words that gave them.
    """

    type: ClassVar[Literal["intent_assessed"]] = "intent_assessed"
    decision: str
    confidence: float
    signals: list[str]
    evidence: list[list[str]]
    question: str | None
    escalated: bool
    plan: bool
    sub_agents: list[str] = field(default_factory=list)
    """The sub-agents that fit, of those that there are."""
    policy_checked: bool = False
    """Whether the calls that it names were held against the policy."""
    calls: list[dict[str, Any]] = field(default_factory=list)
    """The calls that it names (`name`, `arguments`; long ones are cut, and stay text), with what the policy says of
    them (`verdict`, `risk`, `rules`)."""
    instruction: str | None = None
    """What the model is told of it, where the run acts on it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "calls", [_planned(call) for call in self.calls])


def _planned(call: dict[str, Any]) -> dict[str, Any]:
    """A call of a plan under today's names; journals write `tool` and `input`, the latter as text."""
    if "input" not in call:
        return call
    rest = {name: value for name, value in call.items() if name not in ("tool", "input")}
    try:
        arguments = json.loads(call["input"])
    except ValueError:
        # Long arguments were cut.
        arguments = call["input"]
    return {"name": call["tool"], "arguments": arguments, **rest}


@dataclass(frozen=True)
class GoalDrifted(Told):
    """The conversation has left the goal it began with (`drifted`), or is back (`on_goal`)."""

    type: ClassVar[Literal["goal_drifted"]] = "goal_drifted"
    state: str
    step: float
    anchor: float
    goal: str


@dataclass(frozen=True)
class Warned(Told):
    """Something that the caller should know."""

    type: ClassVar[Literal["warned"]] = "warned"
    code: str
    message: str


@dataclass(frozen=True)
class PhaseStarted(Told):
    """A phase of a grounded answer begins: `gather`, `act` or `verify`."""

    type: ClassVar[Literal["phase_started"]] = "phase_started"
    phase: str
    attempt: int


@dataclass(frozen=True)
class PhaseFinished(Told):
    """A phase is done; `output` says what came of it."""

    type: ClassVar[Literal["phase_finished"]] = "phase_finished"
    phase: str
    attempt: int
    duration: float
    output: Any


@dataclass(frozen=True)
class Draft(Told):
    """A whole answer that has not been verified."""

    type: ClassVar[Literal["draft"]] = "draft"
    text: str
    attempt: int
    verified: bool


@renamed(id="call_id")
@dataclass(frozen=True)
class AgentStarted(Told):
    """A sub-agent begins: `id` is the call that started it, `child` names it among the run's children."""

    type: ClassVar[Literal["agent_started"]] = "agent_started"
    call_id: str
    child: str
    name: str
    task: str
    model: str


@renamed(id="call_id", stop="stop_reason")
@dataclass(frozen=True)
class AgentFinished(Told):
    """A sub-agent has ended; `usage`, `cost` and `requests` hold those of its own children."""

    type: ClassVar[Literal["agent_finished"]] = "agent_finished"
    call_id: str
    child: str
    name: str
    stop_reason: StopReason
    is_error: bool
    usage: dict[str, int]
    cost: float | None
    requests: int
    duration: float
    excerpt: str


@dataclass(frozen=True)
class Paused(Told):
    """Nothing is under way any more, and nothing starts until somebody resumes. `waiting` says what else it needs."""

    type: ClassVar[Literal["paused"]] = "paused"
    waiting: list[str]


@dataclass(frozen=True)
class Resumed(Told):
    """The run goes on; `after` seconds that do not count."""

    type: ClassVar[Literal["resumed"]] = "resumed"
    after: float


@dataclass(frozen=True)
class RoleAnswered(Told):
    """A model of a role (`summarizer`, `sanity`, `supervisor`) answered, and the answer can be used."""

    type: ClassVar[Literal["role_answered"]] = "role_answered"
    role: str
    model: str
    attempts: int
    duration: float
    usage: dict[str, int]


@dataclass(frozen=True)
class RoleFailed(Told):
    """A model of a role (`executor` too) failed, or gave what can't be used.

    `next` is `repair`, another model's name, `rules`, or `person`.
    """

    type: ClassVar[Literal["role_failed"]] = "role_failed"
    role: str
    model: str
    reason: str
    next: str


@dataclass(frozen=True)
class SanityChecked(Told):
    """It was looked whether the run is still sane, by `rules` or by a model as well; `triggers` say why then."""

    type: ClassVar[Literal["sanity_checked"]] = "sanity_checked"
    round: int
    triggers: list[str]
    by: str
    on_track: bool
    confidence: float
    progress: float
    concerns: list[dict[str, str]]
    suggestions: list[str]
    should_pause: bool
    should_abort: bool

    @property
    def result(self) -> SanityResult:
        """What came of it, typed."""
        from .roles import SanityResult

        return SanityResult._of(vars(self))


@dataclass(frozen=True)
class Summarized(Told):
    """An exchange was summed up, by `rules` or by a model: facts, files, errors, decisions, timeline."""

    type: ClassVar[Literal["summarized"]] = "summarized"
    round: int
    by: str
    summary: dict[str, Any]


@renamed(id="call_id")
@dataclass(frozen=True)
class Supervised(Told):
    """It was decided whether the model may see a private result: by `rules`, a model, a `person`, or as `kept`."""

    type: ClassVar[Literal["supervised"]] = "supervised"
    call_id: str
    name: str
    level: str
    by: str
    allowed: bool
    confidence: float
    reason: str


@dataclass(frozen=True)
class MemoryRecalled(Told):
    """Memory has said what it knows of the prompt: so many memories stand before the conversation.

    `ids` are their numbers in the store, for `memory.why` and `memory.forget`.
    """

    type: ClassVar[Literal["memory_recalled"]] = "memory_recalled"
    hits: int
    trusted: int
    ids: list[int]
    characters: int
    duration: float


@dataclass(frozen=True)
class ToolsLoaded(Told):
    """Tools that are found by search stand in the requests that follow; `query` found them, `None` where they were
    called without that.
    """

    type: ClassVar[Literal["tools_loaded"]] = "tools_loaded"
    round: int
    names: list[str]
    query: str | None = None


@dataclass(frozen=True)
class Status(Told):
    """What a research does just now, in a sentence or two for whoever waits."""

    type: ClassVar[Literal["status"]] = "status"
    cycle: int
    text: str


@dataclass(frozen=True)
class HookAnswered(Told):
    """A hook has answered: `continue`, `replace`, `veto` (with its `reason`) or `add_context`."""

    type: ClassVar[Literal["hook_answered"]] = "hook_answered"
    stage: str
    name: str
    round: int
    answer: str
    reason: str | None = None


@dataclass(frozen=True)
class HookFailed(Told):
    """A hook raised, was late, or answered what its stage does not allow; `stop` says that the run ends by it."""

    type: ClassVar[Literal["hook_failed"]] = "hook_failed"
    stage: str
    name: str
    round: int
    error: str
    stop: bool


@dataclass(frozen=True)
class ModelChosen(Told):
    """Somebody has chosen a model (`enforce`, `suggest`, `defer`), or a stronger one goes on (`escalate`).

    `used` says whether it holds, from request `round` on.
    """

    type: ClassVar[Literal["model_chosen"]] = "model_chosen"
    round: int
    model: str
    instead_of: str
    confidence: float
    mode: str
    used: bool
    reason: str


@dataclass(frozen=True)
class ChildText(Told):
    """A piece of what a sub-agent says, as it comes: `agent` and `path` say which; with `reasoning`, of what it thinks.

    Its report comes whole with `AgentFinished`. What it says is no part of the run's own answer, which comes as
    `TextDelta`; after a `Reset` of the same `path` it is void.
    """

    type: ClassVar[Literal["child_text"]] = "child_text"
    text: str
    block: int
    reasoning: bool = False


@dataclass(frozen=True)
class RunFinished(Told):
    """The run has ended."""

    type: ClassVar[Literal["run_finished"]] = "run_finished"
    result: Result[Any]


@dataclass(frozen=True)
class UnknownEvent(Told):
    """Something that this version has no class for; `data` is what was told."""

    type: str
    data: dict[str, Any]


Event: TypeAlias = (
    TextDelta
    | ReasoningDelta
    | ToolUseDelta
    | ArgumentsDelta
    | ProviderDelta
    | RoundStarted
    | RoundFinished
    | Retry
    | Reset
    | ToolStarted
    | ToolProgress
    | HandedOff
    | RequestHeld
    | ToolFinished
    | SearchStarted
    | SearchCompleted
    | CallJudged
    | ApprovalRequested
    | ApprovalDecided
    | Compacted
    | Assessed
    | IntentAssessed
    | GoalDrifted
    | Warned
    | PhaseStarted
    | PhaseFinished
    | Draft
    | AgentStarted
    | AgentFinished
    | Paused
    | Resumed
    | RoleAnswered
    | RoleFailed
    | SanityChecked
    | Summarized
    | Supervised
    | HookAnswered
    | HookFailed
    | ModelChosen
    | MemoryRecalled
    | ToolsLoaded
    | RunFinished
    | Status
    | ChildText
)

_TELLER = ("agent", "path")
_DELTAS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "text_delta": (TextDelta, ("text", "block")),
    "reasoning_delta": (ReasoningDelta, ("text", "block")),
    "tool_use_delta": (ToolUseDelta, ("call_id", "name", "block")),
    "arguments_delta": (ArgumentsDelta, ("text", "block")),
    "provider_delta": (ProviderDelta, ("kind", "name", "block")),
}
_OURS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "tool_progress": (ToolProgress, ("call_id", "name", "text")),
    "handed_off": (HandedOff, ("by", "to")),
    "request_held": (RequestHeld, ("host", "reason", "seconds")),
    "run_finished": (RunFinished, ("result",)),
    "child_text": (ChildText, ("text", "block", "reasoning")),
}


def _own_names(kind: type[Any]) -> tuple[str, ...]:
    """The fields of a class of events, but those of the teller."""
    return tuple(name for name, what in kind.__annotations__.items() if not what.startswith("ClassVar"))


_NOTICES: dict[str, tuple[Any, tuple[str, ...]]] = {
    kind.type: (kind, _own_names(kind))
    for kind in get_args(Event)
    if kind not in {known for known, _ in (*_DELTAS.values(), *_OURS.values())}
}

_WRITTEN: dict[str, tuple[Any, tuple[tuple[str, str], ...]]] = {
    _renamed.EVENT_TYPES_WRITTEN.get(name, name): (
        kind,
        tuple((names_before(kind).get(field, field), field) for field in names),
    )
    for name, (kind, names) in _NOTICES.items()
}
"""The types and the names of fields under which journals write what machines tell, beside those of the classes."""

read_under(ToolUseDelta, id="call_id")

_CLASSES = {kind: (name, names) for name, (kind, names) in {**_NOTICES, **_OURS, **_DELTAS}.items()}


def from_notice(notice: dict[str, Any]) -> Event | UnknownEvent:
    """The event for what a machine tells."""
    teller: dict[str, str] = {}
    while notice["type"] == "child":
        teller = {"agent": notice["agent"], "path": notice["path"]}
        notice = notice["told"]
    if notice["type"] not in _WRITTEN:
        return UnknownEvent(notice["type"], {name: value for name, value in notice.items() if name != "type"})
    kind, names = _WRITTEN[notice["type"]]
    return cast("Event", kind(**{name: notice[written] for written, name in names if written in notice}, **teller))


def to_dict(event: Event | UnknownEvent) -> dict[str, Any]:
    """An event as plain data for JSON: its `type`, its `event_id` and its fields.

    event = Reset(round=2)
    assert to_dict(event) == {"type": "reset", "event_id": 0, "round": 2}
    assert from_dict(to_dict(event)) == event
    """
    if isinstance(event, UnknownEvent):
        return {"type": event.type, "event_id": event.event_id, **event.data}
    name, fields_of = _CLASSES[type(event)]
    told = {"type": name, "event_id": event.event_id}
    for field_name in fields_of:
        value = getattr(event, field_name)
        told[field_name] = value.to_dict() if name == "run_finished" else value
    if getattr(event, "path", None) is not None:
        told.update({each: getattr(event, each) for each in _TELLER})
    return told


def from_dict(data: dict[str, Any]) -> Event | UnknownEvent:
    """The event that `to_dict` gave as plain data. A type that this version does not know becomes an `UnknownEvent`."""
    name, number = _renamed.EVENT_TYPES.get(data["type"], data["type"]), data.get("event_id", 0)
    rest = {key: value for key, value in data.items() if key not in ("type", "event_id")}
    known = _NOTICES.get(name) or _OURS.get(name) or _DELTAS.get(name)
    event: Any
    if known is None:
        event = UnknownEvent(name, rest)
    else:
        kind, names = known
        rest = under_new_names(kind, rest)
        if name == "run_finished":
            from .result import Result

            rest["result"] = Result.from_dict(rest["result"])
        names = names if name in _DELTAS else (*names, *_TELLER)
        event = kind(**{key: rest[key] for key in names if key in rest})
    if name in _DELTAS:
        event.event_id = number
    else:
        object.__setattr__(event, "event_id", number)
    return cast("Event | UnknownEvent", event)


redacted_repr(*[each for each in globals().values() if isinstance(each, type) and issubclass(each, Told)])


if not TYPE_CHECKING:
    __getattr__ = lambda name: _renamed.under_new_name(globals(), name, _renamed.EVENTS)  # noqa: E731
