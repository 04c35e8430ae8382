"""Roles beside the one that acts: who sums up, who looks whether it is still sane, who decides what may be shown.

    from loopwright import Agent, ContextPolicy, Guard, Model, Monitor
    from loopwright.roles import Role, Sanity

    agent = Agent(
        Model("anthropic:claude-sonnet-4-5", fallback=["openai:gpt-4o"]),
        context=ContextPolicy(summarizer=Role("openrouter:z-ai/glm-4.5-air:free", fallback=["ollama:qwen3"])),
        monitor=Monitor(sanity=Sanity("rules", interval=3)),
        guard=Guard(supervisor="rules"),
    )

Each role is `"rules"` (the rule engine that ships), a model's name, a `Model`, or an object with `respond`. The rules
are useful alone, too: `check_sanity(messages)` and `summarize(messages)` need no agent.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from . import _core
from ._dataclasses import dataclass, field, replace
from ._endpoints import ASKED, Serving, Unreached, chain_of, endpoint_of, flat, with_endpoint
from ._fields import each_of, made
from ._json import read
from ._model import Model, is_model
from .errors import LoopwrightError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._endpoints import ProviderEndpoint
    from .budget import Budget
    from .messages import Message
    from .models import Responds
    from .monitor import MomentumPolicy, StuckPolicy
    from .result import Messages

__all__ = [
    "Concern",
    "Fact",
    "Releases",
    "Role",
    "RoleAnswer",
    "RoleBudget",
    "Roles",
    "Sanity",
    "SanityResult",
    "Summary",
    "Supervisor",
    "Trigger",
    "ask",
    "ask_sync",
    "check_sanity",
    "summarize",
]

RoleLike: TypeAlias = "Role | Model | Responds | str"
"""Who a role may be: a `Role`, a model, or `"rules"`."""

RULES = "rules"
"""The model that is none: the rule engine."""

_NO_TRIGGER = "there is no such trigger"


# ---- what roles find ----


@dataclass(frozen=True)
class Concern:
    """Something that is wrong: `kind` is `loop`, `drift`, `stuck`, `contradiction` or `other`."""

    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


@dataclass(frozen=True)
class SanityResult:
    """Whether a run is still sane.

    >>> from loopwright.messages import Message
    >>> check_sanity([Message.user("Say hello."), Message.assistant("Hello!")]).on_track
    True
    """

    on_track: bool
    """It serves what was asked for."""
    confidence: float
    """How sure that is, from 0 to 1."""
    progress: float
    """How far it has come, from 0 to 1."""
    concerns: tuple[Concern, ...] = ()
    """What is wrong."""
    suggestions: tuple[str, ...] = ()
    """What to do otherwise."""
    should_pause: bool = False
    """Somebody should look before it goes on."""
    should_abort: bool = False
    """It should end."""
    by: str = RULES
    """`rules`, or the model that was asked as well."""
    round: int = 0
    """The round after which it was looked."""
    triggers: tuple[str, ...] = ()
    """Why then."""

    @property
    def progress_estimate(self) -> float:
        """Another name of `progress`."""
        return self.progress

    @classmethod
    def _of(cls, found: Mapping[str, Any]) -> SanityResult:
        return made(cls, found, concerns=each_of(Concern, found["concerns"]))


@dataclass(frozen=True)
class Fact:
    """Something worth knowing later: `category` is `preference`, `structure`, `error`, `decision` or `constraint`."""

    category: str
    text: str


@dataclass(frozen=True)
class Summary:
    """What is worth keeping of exchanges.

    >>> from loopwright.messages import Message
    >>> summarize([Message.user("Never touch src/lib.rs!")]).facts
    (Fact(category='constraint', text='Never touch src/lib.rs'),)
    """

    facts: tuple[Fact, ...] = ()
    """Key facts, by category."""
    files: tuple[str, ...] = ()
    """Files that were read or changed."""
    errors: tuple[str, ...] = ()
    """What failed."""
    decisions: tuple[str, ...] = ()
    """What was decided."""
    timeline: tuple[str, ...] = ()
    """What happened, in order."""
    by: str = RULES
    """`rules`, or the model."""
    round: int = 0
    """The round that was the last of it."""

    def by_category(self) -> dict[str, list[str]]:
        """The facts' texts, by category."""
        found: dict[str, list[str]] = {}
        for fact in self.facts:
            found.setdefault(fact.category, []).append(fact.text)
        return found

    def words(self, chars: int = 4_000) -> str:
        """The summary in words, as a context window holds it."""
        return _core.summary_words(json.dumps(self.as_dict()), chars)

    def as_dict(self) -> dict[str, Any]:
        """The form that travels: lists and texts."""
        return {
            "facts": [{"category": fact.category, "text": fact.text} for fact in self.facts],
            "files": list(self.files),
            "errors": list(self.errors),
            "decisions": list(self.decisions),
            "timeline": list(self.timeline),
        }

    @classmethod
    def _of(cls, found: Mapping[str, Any], by: str = RULES, round: int = 0) -> Summary:  # noqa: A002
        return made(cls, found, facts=each_of(Fact, found.get("facts", ())), by=by, round=round)


def check_sanity(
    messages: Messages | Sequence[Message | Mapping[str, Any]],
    *,
    stuck: StuckPolicy | None = None,
    momentum: MomentumPolicy | None = None,
) -> SanityResult:
    """Whether what these messages tell of is sane, by rules: loops, drift, stuck states, contradictions.

    What the last message of the user asks for counts; what was done before it does not.

    >>> from loopwright.messages import Message
    >>> check_sanity([Message.user("Is it up?"), Message.assistant("It is up and running.")]).concerns
    ()

    Args:
        messages: What was said and done.
        stuck: The thresholds of repetition.
        momentum: The thresholds of success.
    """
    stuck_json = None if stuck is None else json.dumps(_policy(stuck, "StuckPolicy"))
    momentum_json = None if momentum is None else json.dumps(_policy(momentum, "MomentumPolicy"))
    return SanityResult._of(_core.check_sanity(_history(messages), stuck_json, momentum_json))


def summarize(messages: Messages | Sequence[Message | Mapping[str, Any]]) -> Summary:
    """What is worth keeping of these messages, by rules: facts by category, files, errors, decisions, a timeline.

    >>> from loopwright.messages import Message
    >>> summarize([Message.assistant("I'll use a table. Then we see.")]).decisions
    ("I'll use a table.",)
    """
    return Summary._of(_core.summarize(_history(messages)))


def _history(messages: object) -> _core.History:
    from .result import Messages

    if isinstance(messages, (str, bytes, Mapping)) or not isinstance(messages, Iterable):
        message = f"messages are a list of messages, not {type(messages).__name__}"
        raise UsageError(message, "invalid_messages", "give result.messages of a run, or a list of Message")
    found = messages if isinstance(messages, Messages) else Messages(messages)
    return found._history


def _policy(policy: object, name: str) -> Any:
    from . import monitor

    kind = getattr(monitor, name)
    if not isinstance(policy, kind):
        message = f"a {name} is wanted, not {type(policy).__name__}"
        raise UsageError(message, "invalid_option", f"give {name}(...)")
    return policy.as_dict()


# ---- who the roles are ----


@dataclass(frozen=True)
class RoleBudget:
    """What a role may use in a run. Where it is used up the rules answer; all of it counts in the run's budget, too."""

    requests: int = 50
    """Requests, those that failed included."""
    tokens: int | None = None
    """Tokens of prompts and answers."""
    cost: float | None = None
    """Money, in the currency of the prices."""
    seconds: float | None = None
    """Seconds that its answers take, all together."""

    def __post_init__(self) -> None:
        for name in ("requests", "tokens", "cost", "seconds"):
            value = getattr(self, name)
            if value is None and name != "requests":
                continue
            wanted = (int, float) if name in ("cost", "seconds") else (int,)
            if isinstance(value, bool) or not isinstance(value, wanted) or not 0 <= value < float("inf"):
                message = f"RoleBudget.{name} must be a number from 0 up, not {value!r:.100}"
                raise UsageError(message, "invalid_budget", "give a finite number from 0 up")


@dataclass(frozen=True)
class Role:
    """Who a role is: a model with its parameters, budget and fallback chain.

    `Agent(Role("anthropic:…", fallback=["ollama:…"]))` gives the agent's own model a chain.
    """

    model: str | Model | Responds | None = None
    """`"rules"`, `provider:model`, a `Model`, or an object with `respond`. Without one the rules."""
    fallback: Sequence[str | Model | Responds | Role] = ()
    """Models that are tried in this order where one fails for good (not for a request that is wrong). As a `Role` each
    may have its own temperature, `max_tokens` and effort; one that has none is asked like the first."""
    budget: RoleBudget | None = None
    """What it may use in a run, with its whole chain; of an executor, what the run may use (`requests` are iterations
    then, and attempts that fail are none)."""
    temperature: float | None = None
    """Sampling temperature; by default 0.2, of a supervisor 0.3."""
    max_tokens: int | None = None
    """Tokens of one answer; by default 1,000 for summaries, 600 for checks, 300 for verdicts."""
    effort: str | None = None
    """How hard to think: `"low"`, `"medium"` or `"high"`."""
    timeout: float | None = None
    """Seconds for an answer, all models and the repair included; by default 30, of a supervisor 10. Of an executor, for
    one request (`timeouts["total"]`)."""
    base_url: str | None = None
    """Another server than the provider's own. A role that has neither this nor a key nor headers is reached like the
    model before it in its chain, or like the agent's, where that is of the same provider."""
    api_key: str | Callable[[], str] | None = field(default=None, repr=False)
    """The key, or a function that gives it; otherwise the environment has it."""
    headers: Mapping[str, str] | None = field(default=None, repr=False)
    """Headers to add."""
    price: Mapping[str, float] | None = None
    """Money for a million tokens: `input`, `output`, `cache_read`, `cache_write`."""
    _said: Model | None = field(default=None, repr=False, compare=False, kw_only=True)
    # The `Model` that the role was made of, or whose profile it shares.

    def _flat(self, *, acting: bool = False) -> Role:
        """The role whose model is a name, with what its `Model` says. One that acts may say what holds for a run."""
        return flat(self, acting=acting) if is_model(self.model) else self

    def _settings(self) -> dict[str, Any]:
        """What is configured, for the machine."""
        from . import _options

        _options.check(temperature=self.temperature, max_tokens=self.max_tokens, effort=self.effort)
        found: dict[str, Any] = {
            name: getattr(self, name)
            for name in ("temperature", "max_tokens", "effort", "timeout")
            if getattr(self, name) is not None
        }
        limits = self._said.timeouts if self._said is not None else None
        if self.timeout is None and limits is not None and "total" in limits:
            found["timeout"] = limits["total"]
        if self.budget is not None:
            if not isinstance(self.budget, RoleBudget):
                message = f"the budget of a role is a RoleBudget, not {type(self.budget).__name__}"
                raise UsageError(message, "invalid_budget", "give RoleBudget(requests=..., tokens=..., cost=...)")
            found["budget"] = dict(vars(self.budget))
        return found

    def _models(self, homes: Sequence[ProviderEndpoint] = ()) -> list[Role]:
        """The chain, each with its own address: of its own, of the one before it, or that of `homes`."""
        own = with_endpoint(self._flat(), homes)
        chain = [] if own.model is None or own.model == RULES else [own]
        homes = [*endpoint_of(own), *homes]
        if isinstance(own.fallback, (str, bytes)) or not isinstance(own.fallback, Iterable):
            message = f"fallback can't be {own.fallback!r:.100}"
            raise UsageError(message, "invalid_option", "give a list of models")
        for each in own.fallback:
            role = each if isinstance(each, Role) else Role(each)
            if role.budget is not None or role.timeout is not None:
                message = f"{role.model!r:.100}, which takes over in a chain, has a budget or a timeout of its own"
                hint = "give it to the first of the chain: one holds for all of them"
                raise UsageError(message, "invalid_option", hint)
            # The rules end every chain anyway.
            chain.extend(role._models(homes))
        return chain


@dataclass(frozen=True)
class Trigger:
    """When sanity is checked beside every so many iterations.

    `Trigger.TOOL_FAILURE`, `Trigger.large_output(8_000)` and so on: there are seven.
    """

    name: str
    value: float | None = None

    TOOL_FAILURE: ClassVar[Trigger]
    """A tool failed."""
    EXPLICIT: ClassVar[Trigger]
    """The user wrote `/sanity`, in a line of its own."""
    MOMENTUM_DROP: ClassVar[Trigger]
    """Momentum has become slow, or too low."""

    @staticmethod
    def iteration_count(count: int) -> Trigger:
        """So many iterations since the last check."""
        return Trigger("iteration_count", count)

    @staticmethod
    def large_output(chars: int = 8_000) -> Trigger:
        """A result has more characters."""
        return Trigger("large_output", chars)

    @staticmethod
    def user_idle(seconds: float = 300.0) -> Trigger:
        """The user has said nothing for so long."""
        return Trigger("user_idle", seconds)

    @staticmethod
    def context_threshold(share: float = 0.8) -> Trigger:
        """The request fills this share of the context's budget."""
        return Trigger("context_threshold", share)

    @staticmethod
    def defaults() -> tuple[Trigger, ...]:
        """All but the count of iterations, which `interval` is."""
        return (
            Trigger.TOOL_FAILURE,
            Trigger.large_output(),
            Trigger.user_idle(),
            Trigger.context_threshold(),
            Trigger.EXPLICIT,
            Trigger.MOMENTUM_DROP,
        )

    def _json(self) -> Any:
        return self.name if self.value is None else {self.name: self.value}


Trigger.TOOL_FAILURE = Trigger("tool_failure")
Trigger.EXPLICIT = Trigger("explicit")
Trigger.MOMENTUM_DROP = Trigger("momentum_drop")


@dataclass(frozen=True)
class Sanity(Role):
    """Who checks sanity, and when. The rules always look first; a model's opinion can only be stricter."""

    interval: int = 3
    """After every so many iterations; 0 for never."""
    triggers: Sequence[Trigger] | None = None
    """When else; by default all of `Trigger.defaults()`."""
    wait: bool = False
    """Whether the next request waits for a model's opinion."""
    pause: bool = True
    """Whether a check may pause the run (`stop_reason` `"sanity_pause"`)."""
    abort: bool = True
    """Whether a check may end the run (`stop_reason` `"sanity_abort"`)."""


class Releases:
    """What a supervisor has released in a session, for an hour: `Supervisor(session=Releases())`.

    One for each user: what was released for one is none of another's.
    """

    def __init__(self, ttl: float = 3_600.0, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.ttl = ttl
        self._clock = clock
        self._until: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self._live())

    def clear(self) -> None:
        """Forgets all."""
        self._until.clear()

    def _live(self) -> list[str]:
        now = self._clock()
        self._until = {key: until for key, until in self._until.items() if until > now}
        return sorted(self._until)

    def _add(self, supervised: Iterable[Mapping[str, Any]]) -> None:
        until = self._clock() + self.ttl
        for each in supervised:
            if each["allowed"] and each["key"] and each["by"] != "kept":
                self._until[each["key"]] = until


@dataclass(frozen=True)
class Supervisor(Role):
    """Who decides whether the model may see private results of some tools. Secrets are always for a person."""

    tools: Sequence[str] | Mapping[str, str] = ("memory_search", "db_query", "browser", "computer")
    """Tools whose results are looked at; as a mapping, with what their results are at least (`"sensitive"`, …)."""
    threshold: float = 0.7
    """Below this confidence a person decides."""
    keep: float = 3_600.0
    """Seconds for which a release counts for the same call in this run."""
    session: Releases | None = None
    """Releases that later runs of the session share."""


@dataclass(frozen=True)
class Roles:
    """The roles of an agent. Each is a `Role`, `"rules"`, a name, a `Model`, an object with `respond`, or `None`."""

    summarizer: Role | str | Model | Responds | None = None
    """Sums up each exchange in the background."""
    sanity: Role | str | Model | Responds | None = None
    """Looks whether the run is still sane."""
    supervisor: Role | str | Model | Responds | None = None
    """Decides what of private results the model may see."""
    reflector: Role | str | Model | Responds | None = None
    """Thinks about turns that are over."""

    def role(self, name: str) -> Role | None:
        """The role of a name, as a `Role`."""
        return _as_role(name, getattr(self, name))


def _as_role(name: str, given: Any) -> Role | None:
    if given is None or isinstance(given, Role):
        return given
    if isinstance(given, str) or is_model(given) or _responds(given):
        return Role(given)
    message = f"the {name} can't be {given!r:.100}"
    hint = 'give "rules", a model\'s name, a Model, an object with respond, or a Role'
    raise UsageError(message, "invalid_option", hint)


def _responds(given: object) -> bool:
    from .models import is_own

    return is_own(given)


def resolved(
    roles: Roles | None, executor: Role | None, timeouts: Mapping[str, float], homes: Sequence[ProviderEndpoint]
) -> tuple[dict[str, Any], dict[str, list[Serving]], list[Unreached]]:
    """What the machine knows of the roles, where their models live, and which can't be reached yet."""
    unreached: list[Unreached] = []
    config: dict[str, Any] = {}
    chains: dict[str, list[Serving]] = {}
    if roles is not None and not isinstance(roles, Roles):
        message = f"roles are Roles, not {type(roles).__name__}"
        raise UsageError(message, "invalid_option", "give Roles(summarizer=..., sanity=..., supervisor=...)")
    if executor is not None and executor.fallback:
        models = replace(executor, model=None)._models(homes)
        chains["executor"], config["fallback"] = chain_of("the fallback", models, timeouts, unreached)
    for name in ("summarizer", "sanity", "supervisor"):
        role = roles.role(name) if roles is not None else None
        if role is None:
            continue
        role = role._flat()
        limits = {} if role.timeout is None else {"total": role.timeout}
        chains[name], known = chain_of(f"the {name}'s model", role._models(homes), limits, unreached)
        if role.model is not None and role.model != RULES:
            # How the first is asked stands in the settings of the role.
            known[0] = {key: value for key, value in known[0].items() if key not in ASKED}
        settings = {**role._settings(), "chain": known}
        config[name] = settings if name == "summarizer" else _around(name, role, settings)
    return config, chains, unreached


_ROLE_DEFAULTS: dict[str, dict[str, Any]] = {
    "sanity": {"max_tokens": 600},
    "supervisor": {"temperature": 0.3, "max_tokens": 300, "timeout": 10.0},
}


def _around(name: str, role: Role, settings: dict[str, Any]) -> dict[str, Any]:
    config: dict[str, Any] = {"role": {**_ROLE_DEFAULTS[name], **settings}}
    if name == "sanity" and isinstance(role, Sanity):
        triggers = role.triggers if role.triggers is not None else Trigger.defaults()
        if not all(isinstance(trigger, Trigger) for trigger in triggers):
            raise UsageError(_NO_TRIGGER, "invalid_option", "give triggers of loopwright.roles.Trigger")
        config.update(
            interval=role.interval,
            triggers=[trigger._json() for trigger in triggers],
            wait=role.wait,
            may_pause=role.pause,
            may_abort=role.abort,
        )
    if name == "supervisor" and isinstance(role, Supervisor):
        tools = role.tools if isinstance(role.tools, Mapping) else dict.fromkeys([*role.tools], "normal")
        config.update(tools=dict(tools), threshold=role.threshold, keep=role.keep)
    return config


def taken_apart(model: Any, given: Mapping[str, Any]) -> tuple[Role, Any, dict[str, Any]]:
    """A role that acts, its model, and its options; what is given beside it goes first."""
    if not isinstance(model, Role):
        message = (
            f"a model is a name such as 'anthropic:MODEL' or has a respond or stream method; {model!r:.100} is neither"
        )
        raise UsageError(message, "unknown_model", "write provider:model")
    names = ("base_url", "api_key", "headers", "price", "max_tokens", "temperature", "effort")
    asked = {name: getattr(model, name) if given[name] is None else given[name] for name in names}
    return model._flat(acting=True), model.model, {**given, **asked}


def bounded(budget: Budget, role: Role | None) -> Budget:
    """What a run may use whose executor has a budget of its own."""
    most = role.budget if role is not None else None
    if most is None:
        return budget
    role._settings()  # type: ignore[union-attr]
    limits: dict[str, Any] = {"rounds": most.requests, "tokens": most.tokens}
    limits |= {"cost": most.cost, "wall_time": most.seconds}
    for name, value in limits.items():
        now = getattr(budget, name)
        limits[name] = value if now is None else now if value is None else min(now, value)
    return replace(budget, **limits)


def session_of(roles: Roles | None) -> Releases | None:
    """The releases that the runs of an agent share."""
    supervisor = roles.supervisor if roles is not None else None
    return supervisor.session if isinstance(supervisor, Supervisor) else None


def merged(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> dict[str, Any]:
    """What the roles of two attempts found, together."""
    if not earlier or not later:
        return dict(later or earlier)
    found = dict(later)
    for name in ("summaries", "sanity", "supervised"):
        if earlier.get(name) or later.get(name):
            found[name] = [*earlier.get(name, ()), *later.get(name, ())]
    spent: dict[str, Any] = {name: dict(used) for name, used in earlier.get("spent", {}).items()}
    for name, used in later.get("spent", {}).items():
        before = spent.setdefault(name, {})
        for key, value in used.items():
            if isinstance(value, dict):
                before[key] = {each: count + before.get(key, {}).get(each, 0) for each, count in value.items()}
            elif value is not None:
                before[key] = value + (before.get(key) or 0)
    found["spent"] = spent
    return found


# ---- asking a role, outside of any run ----


@dataclass(frozen=True)
class RoleAnswer:
    """What a role answered: `value` fits the schema, or is what the rules gave."""

    value: Any
    by: str
    """The model, or `rules`."""
    usage: Any = None
    """Tokens of all requests."""
    cost: float | None = None
    """Money, where prices are known."""
    problems: tuple[str, ...] = ()
    """What was wrong with models and answers on the way."""


async def ask(
    role: Role | str | Model | Responds | None,
    prompt: str,
    schema: Mapping[str, Any],
    *,
    system: str | None = None,
    rules: Callable[[], Any] | None = None,
    journal: Any = None,
) -> RoleAnswer:
    """Asks a role for JSON of `schema`: each model of its chain, one repair each, else what `rules()` gives.

    Never raises for what models and providers do; `problems` tells of it. Without `rules` the value is `None` then.
    """
    asking = _Asking(role, prompt, schema, system, rules)
    while (step := asking.step()) is not None:
        agent, text, messages = step
        try:
            asking.heard(await agent.run(text, messages=messages, journal=journal))
        except LoopwrightError as error:
            asking.failed(error)
    return asking.answer()


def ask_sync(
    role: Role | str | Model | Responds | None,
    prompt: str,
    schema: Mapping[str, Any],
    *,
    system: str | None = None,
    rules: Callable[[], Any] | None = None,
    journal: Any = None,
) -> RoleAnswer:
    """`ask` without asyncio."""
    asking = _Asking(role, prompt, schema, system, rules)
    while (step := asking.step()) is not None:
        agent, text, messages = step
        try:
            asking.heard(agent.run_sync(text, messages=messages, journal=journal))
        except LoopwrightError as error:
            asking.failed(error)
    return asking.answer()


class _Asking:
    """A question to a role, from model to model."""

    def __init__(
        self, role: Any, prompt: str, schema: Mapping[str, Any], system: str | None, rules: Callable[[], Any] | None
    ) -> None:
        self.role = (_as_role("role", role) or Role(RULES))._flat()
        self.models = self.role._models()
        self.prompt = prompt
        self.schema = json.dumps(dict(schema))
        head = f"{system}\n" if system else ""
        self.system = f"{head}Output ONLY one JSON value of this schema:\n{self.schema}"
        self.rules = rules
        self.plain = self.repairing = False
        self.requests = 0
        self.tokens = 0
        self.cost: float | None = None
        # Whether a model whose price is not known has used something.
        self.gap = False
        self.seconds = 0.0
        self.usage: Any = None
        self.problems: list[str] = []
        self.found: RoleAnswer | None = None
        self.next: tuple[str, Any] = (prompt, None)

    def step(self) -> tuple[Any, str, Any] | None:
        """The next request: who, what, after which messages; `None` where there is none."""
        if self.found is not None or not self.models:
            return None
        budget = self.role.budget or RoleBudget()
        used = ((self.requests, budget.requests), (self.tokens, budget.tokens), (self.cost or 0.0, budget.cost))
        if any(most is not None and spent >= most for spent, most in (*used, (self.seconds, budget.seconds))):
            self.problems.append("the budget of the role is used up")
            return None
        self.requests += 1
        return self._agent(), *self.next

    def _agent(self) -> Any:
        from ._one_shot import OneShotAgent

        return OneShotAgent(self.models[0], self.role, self.system, None if self.plain else self.schema)

    def heard(self, result: Any) -> None:
        """An answer is in."""
        self._book(result)
        text = result.final or result.best_draft or ""
        problem = "the JSON breaks off before its end"
        try:
            found = _core.find_json(text[:_LONGEST], self.schema)
            if found.complete:
                self.found = RoleAnswer(read(found.json, "the answer"), result.model)
                return
        except LoopwrightError as error:
            problem = str(error)[:400]
        self.problems.append(f"{result.model}: {problem}")
        if self.repairing:
            self._next_model()
            return
        self.repairing = True
        again = f"That can't be used: {problem}. Output ONLY the JSON, nothing before it and nothing behind."
        self.next = (again, result.messages)

    def failed(self, error: LoopwrightError) -> None:
        """A model failed."""
        if error.result is not None:
            self._book(error.result)
        self.problems.append(f"{self.models[0].model}: {error}")
        if error.code == "bad_request" and not self.plain:
            # Not every server takes a schema; the prompt has it, too.
            self.plain = True
            return
        self._next_model()

    def _next_model(self) -> None:
        self.models = self.models[1:]
        self.plain = self.repairing = False
        self.next = (self.prompt, None)

    def _book(self, result: Any) -> None:
        self.tokens += result.usage.total_tokens
        self.seconds += result.duration
        if result.cost is not None:
            self.cost = (self.cost or 0.0) + result.cost
        elif result.usage.total_tokens:
            self.gap = True
        if self.usage is None:
            self.usage = result.usage
        else:
            before, now = vars(self.usage), vars(result.usage)
            self.usage = type(result.usage)(**{name: before[name] + now[name] for name in now})

    def answer(self) -> RoleAnswer:
        """What came of it."""
        found = self.found
        if found is None:
            found = RoleAnswer(self.rules() if self.rules is not None else None, RULES)
        return replace(found, usage=self.usage, cost=None if self.gap else self.cost, problems=tuple(self.problems))


_LONGEST = 65_536
