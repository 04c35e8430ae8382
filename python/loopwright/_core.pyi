"""The compiled part of Loopwright. Import from `loopwright`, not from here.

Values that cross as text are JSON in the canonical form: one shape of messages, requests and answers for all providers.
Where an argument is `_Json`, the text or the Python object it stands for will do.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, TypeAlias, final, overload

from typing_extensions import Self, disjoint_base

from .budget import Complexity
from .errors import LoopwrightError
from .messages import Message

__all__ = [
    "ApprovalDesk",
    "ArgumentsDelta",
    "AssessedRisk",
    "Background",
    "Breaker",
    "BuildInfo",
    "Call",
    "CallFinished",
    "CallStarted",
    "Command",
    "Commands",
    "ContextArchive",
    "ContextReport",
    "Continuation",
    "Ended",
    "Endpoint",
    "Event",
    "ExtractedArguments",
    "ExtractedCall",
    "ExtractedReasoning",
    "ExtractedText",
    "Extraction",
    "Fence",
    "FolderWalk",
    "FoundJson",
    "GoalDrift",
    "History",
    "Hub",
    "LinePattern",
    "LocalIndex",
    "MachineConfig",
    "Markup",
    "MemoryStore",
    "ModelCall",
    "Momentum",
    "OwnAnswer",
    "Policy",
    "PreparedTools",
    "PriceTable",
    "Problem",
    "ProviderDelta",
    "ReasoningDelta",
    "Region",
    "Repair",
    "Repaired",
    "Request",
    "RetrieveIndex",
    "RiskGround",
    "Run",
    "StreamDecoder",
    "StuckDetector",
    "TextDelta",
    "TokenCount",
    "TokenCounter",
    "ToolCallParser",
    "ToolUseDelta",
    "TurnMachine",
    "WebTask",
    "Window",
    "WireServer",
    "__version__",
    "analysis_coverage",
    "analysis_cut",
    "analysis_enough",
    "analysis_gain",
    "analysis_latent",
    "analysis_nearest",
    "analysis_select",
    "analysis_trend",
    "analysis_usable",
    "answer_deltas",
    "assemble_context",
    "assess_arguments",
    "assess_intent",
    "assess_shell",
    "breakpoint_of",
    "build_info",
    "canonical_block",
    "canonical_message",
    "canonical_request",
    "canonical_response",
    "check_citations",
    "check_json",
    "check_options",
    "check_sanity",
    "classify_sensitivity",
    "compare_journals",
    "complexities",
    "compress_context",
    "continuation",
    "cost",
    "count_context",
    "count_tokens",
    "count_tools",
    "decode_failure",
    "decode_request",
    "decode_response",
    "decode_stream",
    "decode_tokens",
    "dialect_for",
    "dialects",
    "embed_texts",
    "encode_message",
    "encode_request",
    "encode_response",
    "encode_stream",
    "encode_tokens",
    "estimate_tokens",
    "fence_support",
    "fetch_text",
    "find_json",
    "find_next_step",
    "forget_this_machine",
    "is_limit",
    "is_secret_variable",
    "journal_close",
    "journal_delete",
    "journal_delete_file",
    "journal_file_label",
    "journal_find",
    "journal_head",
    "journal_import",
    "journal_labels",
    "journal_last_of",
    "journal_runs",
    "journal_text",
    "journal_told",
    "json_elements",
    "json_members",
    "judge_claim",
    "judge_complexity",
    "keep_own_key",
    "limit_output",
    "problem_kinds",
    "prompts",
    "quote_sources",
    "read_text",
    "reasoning_for",
    "redact",
    "redact_json",
    "redact_with_hits",
    "render_calls",
    "render_report",
    "render_results",
    "repair_json",
    "replay",
    "reply_signals",
    "retrieve_fuse",
    "retrieve_topics",
    "schema_fault",
    "search_is_down",
    "sensitivity_detectors",
    "shutdown",
    "summarize",
    "summary_words",
    "suspended",
    "tool_flow",
    "visible",
    "web_request",
    "window_of",
    "without_own_keys",
]

_Json: TypeAlias = str | dict[str, Any] | Sequence[Any]
_CommandKind: TypeAlias = Literal[
    "generate",
    "execute",
    "approve",
    "search",
    "spawn",
    "interrupt",
    "timer",
    "abort",
    "emit",
    "persist",
    "refuse",
    "finish",
    "query",
    "fetch",
    "embed",
    "consult",
    "hook",
    "choose",
    "recall",
]
_Risk: TypeAlias = Literal["safe", "cautious", "confirm", "dangerous"]
_Delta: TypeAlias = TextDelta | ReasoningDelta | ToolUseDelta | ArgumentsDelta | ProviderDelta

__version__: Final[str]

@final
class BuildInfo:
    """How a module was built."""

    @property
    def version(self) -> str:
        """The version of the package."""
    @property
    def profile(self) -> str:
        """The Cargo profile: `fast` (`make`), `release` (`pip install` from source), `dist` (wheels)."""
    @property
    def counts(self) -> bool:
        """Whether the compiler was told what ordinary runs do."""
    @property
    def features(self) -> list[str]:
        """The features of the crate."""
    @property
    def compiler(self) -> str:
        """The compiler, with its version."""
    @property
    def commit(self) -> str | None:
        """The commit, where the build was told it (`make wheel`)."""

def build_info() -> BuildInfo:
    """How this module was built: worth a line in each report of a fault or of a speed.

    >>> from loopwright.machine import build_info
    >>> build_info().compiler.split()[0]
    'rustc'
    """

@final
class Hub:
    """Where the results of calls arrive, from whichever thread they come.

    With `wakes`, the hub has a file descriptor that becomes readable when something has arrived; without, `wait`
    waits.
    """

    def __new__(cls, *, wakes: bool = True) -> Hub: ...
    def fileno(self) -> int:
        """The file descriptor to watch; -1 without one."""

    def drain(self) -> list[tuple[int, Any]]:
        """All that has arrived, in order: pairs of a key and an `Event`, deltas, a page, an answer or an exception."""

    def wait(self, seconds: float) -> None:
        """Waits for something to arrive, at most so many seconds, with the interpreter free for others."""

    def poke(self) -> None:
        """Wakes whoever waits, without anything having arrived."""

    def generate(
        self,
        key: int,
        command: Command,
        endpoint: Endpoint,
        show: bool,
        apart: bool = False,
        repeats: int | None = None,
        run: str | None = None,
        batch: str | None = None,
        kept: Continuation | None = None,
    ) -> ModelCall:
        """Sends the request of a `generate` command; its `Event` arrives under `key`, with `show` its deltas before.

        An answer that streams is cut when it has said the same `repeats` times. In a batch the request bears the name
        of its `run`; `batch` is the one that it went into before. `kept` are the answers of the run that a request can
        go on from.

        With `apart` its deltas come with the number of the command, as a pair.
        """

    def search(
        self,
        key: int,
        command: Command,
        folders: Sequence[str | PathLike[str]] = ...,
        others: str | None = None,
        failures: Sequence[str] = ...,
    ) -> ModelCall:
        """Carries out a `search` command over the files of `folders`; its `Event` arrives under `key`.

        Among several folders references begin with the name of theirs. `others` are documents from elsewhere, as JSON;
        `failures` says who gave none, and why.
        """

    def fetch(self, key: int, url: str, options: Any) -> WebTask:
        """Fetches a page and reads it; what `fetch_text` gives, or the exception, arrives under `key`."""

    def request(self, key: int, call: Any) -> WebTask:
        """Makes a request; what `web_request` gives, or the exception, arrives under `key`."""

    def embed(self, key: int, endpoint: Endpoint, texts: Sequence[str], options: Any) -> WebTask:
        """Makes vectors of texts; what `embed_texts` gives, or the exception, arrives under `key`."""

    def close(self) -> None:
        """Nothing arrives any more."""

@final
class ModelCall:
    """A call under way."""

    def abort(self) -> Event:
        """Stops the call and closes its connection. Gives what it had shown, as the event of a cancelled call."""

    def peek(self) -> Event:
        """What it has shown so far, as the event of a call that is cancelled now; the call goes on."""

    @property
    def done(self) -> bool:
        """Whether the call has ended, one way or the other."""

@final
class OwnAnswer:
    """An answer to a request on its way from a model of one's own."""

    visible: Final[bool]
    """Whether anybody was shown anything of it."""
    done: bool
    """Whether it has ended, one way or the other."""

    def __new__(cls, id: int, request: Request, show: bool = True) -> OwnAnswer: ...
    def text(self, text: str) -> list[Any]:
        """The deltas to show of a piece of text."""

    def reasoning(self, text: str) -> list[Any]:
        """The deltas to show of a piece of reasoning."""

    def call(self, call_id: str, name: str, arguments: str) -> list[Any]:
        """The deltas to show of a call; its arguments are JSON text."""

    def finish(self) -> list[Any]:
        """The deltas that were held back, once nothing follows."""

    def peek(self) -> Event:
        """What it has shown so far, as the event of a call that is cancelled now."""

    def abort(self) -> Event:
        """The same; nothing of it is shown any more."""

@final
class Continuation:
    """The answers of a run that its next requests can go on from, where a provider keeps them."""

    def __new__(cls) -> Continuation: ...
    def close(self) -> None:
        """Forgets all, closes its sockets, and keeps nothing any more."""

@final
class Endpoint:
    """Where a model lives: `provider:model`, with keys and addresses from the environment where none are given.

    `connect`, `first_byte`, `idle` and `total` are in seconds. The other limits hold for all requests of the process to
    the host with the key. An endpoint never shows its key. A function is asked for the key before each request.
    `profile` is what the host takes: the name of a file and its TOML, or `None` and the JSON of a dict. With `batch`
    requests go in batches, gathered and looked after as it says. With `continued` requests go on from the answers that
    the provider has kept.
    """

    def __new__(
        cls,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | Callable[[], str] | None = None,
        headers: Sequence[tuple[str, str]] = ...,
        profile: tuple[str | None, str] | None = None,
        batch: Any = None,
        continued: str | None = None,
        connect: float | None = None,
        first_byte: float | None = None,
        idle: float | None = None,
        total: float | None = None,
        concurrency: int | None = None,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
    ) -> Endpoint: ...
    @property
    def model(self) -> str:
        """The model's own name."""

    @property
    def provider(self) -> str:
        """The provider's name."""

    @property
    def host(self) -> str:
        """`host:port` of its address."""

    @property
    def address_digest(self) -> str:
        """A digest of its whole address, under which other paths and queries differ."""

    @property
    def batch(self) -> bool:
        """Whether its requests go in batches."""

    @property
    def continued(self) -> bool:
        """Whether its requests go on from answers that the provider has kept."""

    @property
    def wire(self) -> Literal["anthropic", "openai_chat", "openai_responses", "gemini", "bedrock", "offline"]:
        """The protocol it speaks."""

@final
class TextDelta:
    """New prose of an answer that is not verified yet."""

    __match_args__: Final = ("text", "block")
    type: ClassVar[Literal["text_delta"]]
    def __new__(cls, text: str, block: int = 0) -> Self: ...
    def __getnewargs__(self) -> tuple[str, int]: ...
    @property
    def event_id(self) -> int:
        """Its number among the events of the run."""

    @event_id.setter
    def event_id(self, number: int) -> None: ...
    @property
    def text(self) -> str:
        """What is new."""

    @property
    def block(self) -> int:
        """The place of its block in the answer, from 0."""

@final
class ReasoningDelta:
    """New reasoning."""

    __match_args__: Final = ("text", "block")
    type: ClassVar[Literal["reasoning_delta"]]
    def __new__(cls, text: str, block: int = 0) -> Self: ...
    def __getnewargs__(self) -> tuple[str, int]: ...
    @property
    def event_id(self) -> int:
        """Its number among the events of the run."""

    @event_id.setter
    def event_id(self, number: int) -> None: ...
    @property
    def text(self) -> str:
        """What is new."""

    @property
    def block(self) -> int:
        """The place of its block in the answer, from 0."""

@final
class ToolUseDelta:
    """The model begins to write a tool call."""

    __match_args__: Final = ("call_id", "name", "block")
    type: ClassVar[Literal["tool_use_delta"]]
    def __new__(cls, call_id: str, name: str, block: int = 0) -> Self: ...
    def __getnewargs__(self) -> tuple[str, str, int]: ...
    @property
    def event_id(self) -> int:
        """Its number among the events of the run."""

    @event_id.setter
    def event_id(self, number: int) -> None: ...
    @property
    def call_id(self) -> str:
        """The call's id."""

    @property
    def name(self) -> str:
        """The tool."""

    @property
    def block(self) -> int:
        """The place of its block in the answer, from 0."""

@final
class ArgumentsDelta:
    """New text of a tool call's arguments."""

    __match_args__: Final = ("text", "block")
    type: ClassVar[Literal["arguments_delta"]]
    def __new__(cls, text: str, block: int = 0) -> Self: ...
    def __getnewargs__(self) -> tuple[str, int]: ...
    @property
    def event_id(self) -> int:
        """Its number among the events of the run."""

    @event_id.setter
    def event_id(self, number: int) -> None: ...
    @property
    def text(self) -> str:
        """What is new."""

    @property
    def block(self) -> int:
        """The place of its block in the answer, from 0."""

@final
class ProviderDelta:
    """The provider runs a tool of its own, or shows what it gave."""

    __match_args__: Final = ("kind", "name", "block")
    type: ClassVar[Literal["provider_delta"]]
    def __new__(cls, kind: str, name: str, block: int = 0) -> Self: ...
    def __getnewargs__(self) -> tuple[str, str, int]: ...
    @property
    def event_id(self) -> int:
        """Its number among the events of the run."""

    @event_id.setter
    def event_id(self, number: int) -> None: ...
    @property
    def kind(self) -> str:
        """The block's type, as the provider names it."""

    @property
    def name(self) -> str:
        """The provider's tool."""

    @property
    def block(self) -> int:
        """The place of its block in the answer, from 0."""

@final
class History:
    """Messages in order, kept in Rust; equal if they say the same."""

    def __new__(cls, messages: History | _Json) -> History: ...
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, at: int, /) -> Message: ...
    @overload
    def __getitem__(self, at: slice, /) -> list[Message]: ...
    def __iter__(self) -> Iterator[Message]: ...
    def __reversed__(self) -> Iterator[Message]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def json(self, at: int) -> str:
        """One message as JSON text; an `IndexError` beyond the end."""

    def to_json(self) -> str:
        """All messages as JSON text."""

    def said(self, words: str) -> History:
        """These messages and, after them, a user's words."""

    def extended(self, messages: History | _Json) -> History:
        """These messages and, after them, the others; these are shared, not copied."""

@final
class Ended:
    """How a run ended. Reads like the dict that `Command.outcome` gives."""

    @staticmethod
    def from_json(text: str) -> Ended:
        """The end that the JSON of an outcome tells of."""

    @property
    def children(self) -> list[tuple[str, str, str, str, History, Ended]]:
        """Its sub-agents: name, path, call, task, messages and end of each. Messages are as they were written."""

    def __getitem__(self, name: str, /) -> Any: ...
    def get(self, name: str, default: Any = None) -> Any:
        """A member, or `default` where there is none."""

@final
class Event:
    """Something that happened: what a machine is fed. Answers repeat the number of the command they answer."""

    @staticmethod
    def start(messages: History | _Json) -> Event:
        """The run begins; the last message is the prompt."""

    @staticmethod
    def generated(id: int, response: _Json) -> Event:
        """A model answered command `id`; `response` in the canonical form."""

    @staticmethod
    def answered(id: int, answer: object, turn: int) -> Event | None:
        """A model of one's own gave its answer number `turn` to command `id`: a `loopwright.models.Response`, or text.

        `None` for an answer that needs its canonical form.
        """

    @staticmethod
    def failed(id: int, kind: str, message: str, *, retry_after: float | None = None, visible: bool = False) -> Event:
        """A model call failed; `kind` is one such as `rate_limited`, `overloaded`, `timeout`, `cut` or `auth`.

        `visible` says that a part of the answer was shown to somebody.
        """

    @staticmethod
    def executed(id: int, call_id: str, content: _Json, *, is_error: bool = False) -> Event:
        """A tool gave its result: text, or blocks in the canonical form."""

    @staticmethod
    def tool_failed(id: int, call_id: str, kind: str, message: str, hint: str | None = None) -> Event:
        """A tool failed; the model reads why and what to do."""

    @staticmethod
    def decided(id: int, hash: str, decision: str, reason: str | None = None, arguments: _Json | None = None) -> Event:
        """Somebody decided: `allow`, `deny`, `abort`, `edit` (with the new `arguments`), or `remembered` for a yes of
        before, of which `reason` tells. Without the question's `hash` an allow is a deny.
        """

    @staticmethod
    def fired(id: int, partial: Event | None = None) -> Event:
        """A timer fired. `partial` is what `ModelCall.peek` gave of a call under way: a run that ends here keeps it."""

    @staticmethod
    def interrupt(how: str = "cancel", partial: Event | None = None) -> Event:
        """Somebody wants the run to end: `cancel` (at once) or `after_round`; `partial` is what an abort gave."""

    @staticmethod
    def partials(calls: list[Event]) -> Event:
        """What had come of model calls that are under way, by the events that `ModelCall.peek` gave: for the machines
        that the next event ends.
        """

    @staticmethod
    def pause() -> Event:
        """Somebody wants the run to stand still when what is under way has ended."""

    @staticmethod
    def resume() -> Event:
        """Somebody wants a run that was paused to go on."""

    @staticmethod
    def asked(id: int, put: bool, tell: bool = False) -> Event:
        """A question to a person waits behind another, or is put now; with `tell`, `approval_asked` is told again."""

    @staticmethod
    def elsewhere(id: int, call_id: str) -> Event:
        """The work of a call is done elsewhere: nobody here is at it."""

    @staticmethod
    def hooked(id: int, replies: Sequence[tuple[str, str, str, bool]]) -> Event:
        """The hooks of a stage answered: name, answer (`continue`, `replace`, `veto`, `add_context`, `failed`), its
        text (JSON of a `replace`, the reason of a `veto`, what went wrong), and whether a failure stops the run.
        """

    @staticmethod
    def chosen(
        id: int,
        model: str | None = None,
        confidence: float = 1.0,
        reason: str = ...,
        error: str | None = None,
        price: _Json | None = None,
        settings: _Json | None = None,
    ) -> Event:
        """Whoever was asked which model shall be used answered: a model, its price and its settings, or none, or what
        went wrong.
        """

    @staticmethod
    def recalled(id: int, found: _Json) -> Event:
        """Memory said what it knows: `found` has `trusted`, `context` and `hits`."""

    @staticmethod
    def recall_failed(id: int, code: str, message: str) -> Event:
        """Memory could not be asked."""

    @staticmethod
    def from_json(text: str) -> Event:
        """An event from the form in which journals hold it."""

    def to_json(self) -> str:
        """The form in which journals hold it."""

@final
class Command:
    """Something a machine wants done. `kind` says what; the other attributes are there where the kind has them."""

    @property
    def kind(self) -> _CommandKind:
        """What is wanted."""

    @property
    def id(self) -> int | None:
        """The command's number; for `abort` that of the command to stop."""

    @property
    def request(self) -> Request | None:
        """The request of a `generate`, or that which a `hook` is shown."""

    @property
    def purpose(self) -> Literal["executor", "summarizer", "sanity", "supervisor", "reflector"] | None:
        """What a `generate` is for."""

    @property
    def place(self) -> int | None:
        """Which model of its role's chain a `generate` goes to; 0 is the first."""

    @property
    def attempt(self) -> int | None:
        """Which attempt at the same request a `generate` is."""

    @property
    def calls(self) -> list[Call]:
        """The calls of an `execute`, the call of an `approve`."""

    @property
    def parallel(self) -> bool:
        """Whether the calls of an `execute` may run at once."""

    @property
    def at(self) -> float | None:
        """When a `timer` fires or an `approve` lapses, in seconds since the run's start."""

    @property
    def hash(self) -> str | None:
        """The hash that the decision on an `approve` must repeat."""

    @property
    def risk(self) -> _Risk | None:
        """How much harm the call of an `approve` may do."""

    @property
    def why(self) -> str | None:
        """Why an `approve` asks, or a `refuse` refuses."""

    @property
    def judged(self) -> dict[str, Any] | None:
        """What the guard saw of the call of an `approve`; `None` without a guard."""

    @property
    def notice(self) -> dict[str, Any] | None:
        """What an `emit` tells, with its `type`."""

    @property
    def outcome(self) -> dict[str, Any] | None:
        """How the run ended, of a `finish`."""

    @property
    def ended(self) -> Ended | None:
        """The same, read member by member."""

    @property
    def shape(self) -> tuple[int, int] | None:
        """How many memories a `recall` asks for at most, and how many characters of each."""

    @property
    def question(self) -> str | None:
        """The question of a `search`, the prompt of a `recall`."""

    @property
    def wanted(self) -> dict[str, Any] | None:
        """What a `query` (`query`, `k`), a `fetch` (`url`, `max_chars`) or an `embed` (`texts`) wants."""

    @property
    def stage(self) -> str | None:
        """The stage of a `hook`."""

    @property
    def round(self) -> int | None:
        """The round of a `hook`, from 1; 0 before the first."""

    @property
    def subject(self) -> str | None:
        """What a `hook` is shown, or the prompt of a `choose`, as JSON text."""

    @property
    def spent(self) -> dict[str, Any] | None:
        """What the run had used when a `hook` was asked."""

    @property
    def model(self) -> str | None:
        """The model that is used if a `choose` names none."""

    def after(self, answer: str, text: str) -> Command:
        """The same `hook` after an answer: with another subject after a `replace`. What its stage does not allow, and
        what can't take the subject's place, is an error. A `generate` takes what `pre_llm` takes, for its request.
        """

    def to_json(self) -> str:
        """The form in which journals hold it: requests as counts and hashes."""

@final
class Call:
    """A call of a tool."""

    @property
    def call_id(self) -> str:
        """The provider's id of the call."""

    @property
    def name(self) -> str:
        """The tool."""

    @property
    def arguments(self) -> Any:
        """The arguments as a dict."""

    @property
    def arguments_json(self) -> str:
        """The arguments as the model wrote them."""

    @property
    def timeout(self) -> float | None:
        """Seconds it may take."""

    @property
    def round(self) -> int:
        """The round it belongs to, from 1."""

@final
class Request:
    """What is asked of a model."""

    @property
    def model(self) -> str:
        """The model's name."""

    @property
    def system(self) -> str | None:
        """The instructions before the history; `None` without any."""

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The tools on offer, in the canonical form."""

    @property
    def max_tokens(self) -> int | None:
        """Tokens of the answer at most; `None` leaves that to the model."""

    @property
    def messages(self) -> History:
        """The history."""

    @property
    def last_text(self) -> str:
        """The text of the last message."""

    @property
    def turns(self) -> int:
        """How many answers of the model the history holds."""

    def to_json(self) -> str:
        """The whole request in the canonical form."""

    def to_wire(self, wire: str) -> str:
        """The body as a wire wants it: `anthropic`, `openai_chat`, `openai_responses`, `gemini` or `bedrock`."""

@final
class MachineConfig:
    """What a machine is made of, checked."""

    @staticmethod
    def turn(config: _Json) -> MachineConfig:
        """A turn's configuration; unknown keys and illegal values are errors that name them."""

    @staticmethod
    def grounded(config: _Json) -> MachineConfig:
        """A grounded answer's configuration, checked like a turn's."""

    @staticmethod
    def research(config: _Json) -> MachineConfig:
        """A research's configuration, checked like a turn's."""

    def to_json(self) -> str:
        """The form in which journals hold it."""

    @property
    def repeats(self) -> int | None:
        """So often an answer that streams may say the same before it is cut; `None` for any number."""

@final
class TurnMachine:
    """The turn machine, bare: events in, commands out, no I/O and no clock."""

    def __new__(cls, config: MachineConfig | _Json, *, run: str = "run") -> TurnMachine: ...
    def step(self, event: Event, at: float = 0.0) -> list[Command]:
        """Takes an event that was seen at `at` (seconds since the run's start); gives the commands."""

    @property
    def messages(self) -> History:
        """The history so far."""

    @property
    def state(self) -> str:
        """`running`, `pausing`, `paused` or `done`."""

    @property
    def waiting(self) -> list[str]:
        """What the machine waits for, in words."""

    @property
    def finished(self) -> bool:
        """Whether it has finished."""

    def take_journal(self) -> str:
        """The journal's lines since the last call."""

    def save(self) -> str:
        """The machine's whole state as JSON text, for `load`."""

    @staticmethod
    def load(state: str) -> TurnMachine:
        """A machine that goes on where `save` left it; its journal begins anew."""

@final
class Run:
    """A machine, its clock and its journal.

    `journal` is the path of a new file that lines are appended to as they come; `keep` keeps them in memory.
    """

    def __new__(
        cls,
        id: str,
        config: MachineConfig,
        *,
        journal: str | None = None,
        keep: bool = False,
        about: str | None = None,
        store: str | None = None,
        released: list[str] | None = None,
    ) -> Run: ...
    @staticmethod
    def resume(path: str) -> tuple[Run, list[Command], str]:
        """The run of a journal, which goes on in it, or beside it where it is damaged; its open commands; the path."""

    @staticmethod
    def resume_stored(path: str, name: str) -> tuple[Run, list[Command], str]:
        """The run of a store, which goes on there, or in one beside it where it is damaged."""

    @staticmethod
    def fork(
        id: str,
        text: str,
        at: int,
        *,
        prompt: str | None = None,
        models: MachineConfig | None = None,
        budget: bool = False,
        slow: bool = False,
        result: str | None = None,
        journal: str | None = None,
        keep: bool = False,
        about: str | None = None,
        store: str | None = None,
    ) -> tuple[Run, list[Command]]:
        """A run that begins with the events of a journal up to number `at`, and its open commands."""

    @staticmethod
    def reopen(
        id: str,
        text: str,
        *,
        journal: str | None = None,
        keep: bool = False,
        about: str | None = None,
        store: str | None = None,
    ) -> tuple[Run, list[Command]]:
        """A run that begins as the one of a journal up to the event that this version decides otherwise."""

    @staticmethod
    def take_up(text: str) -> tuple[Run, list[Command]]:
        """The run of a journal's lines, which goes on in memory, and its open commands."""

    def take_journal(self) -> bytes:
        """The lines that the journal in memory has got since the last call, and holds no longer."""

    def now(self) -> float:
        """Seconds since the run's start, without those for which its clock stood still."""

    def hold(self) -> None:
        """The clock stands still until `go_on`."""

    def go_on(self) -> None:
        """The clock goes on."""

    def step(self, event: Event, notices: bool = True) -> list[Command]:
        """Takes an event; gives the commands, without those that only tell (`emit`) unless `notices` is set."""

    def keep_notices(self) -> None:
        """Keeps what is told from now on, for memory's audit."""

    def persist(self) -> None:
        """All events so far are on disk when this returns, whatever happens to the machine."""

    @property
    def seq(self) -> int:
        """The number of the last event."""

    @property
    def messages(self) -> History:
        """The history so far."""

    @property
    def state(self) -> str:
        """`running`, `pausing`, `paused` or `done`."""

    @property
    def ended(self) -> Ended | None:
        """How the run ended, once it has."""

    def batch_of(self, command: int) -> str | None:
        """The batch that the request of the command of that number went into before the run was resumed."""

    def is_edited(self, command: int, call_id: str) -> bool:
        """Whether a person has changed the arguments of a call of the command of that number."""

    def names_paths(self, command: int, call_id: str) -> bool:
        """Whether a call may name paths: only then there is something for `led` to say."""

    def tool_of(self, command: int, name: str) -> str | None:
        """What the run was told of a tool that is asked for before each request, as JSON, where the command came
        from.
        """

    def led(self, command: int, name: str, arguments: _Json, variables: dict[str, str]) -> str | None:
        """What is said of a call, as JSON, if paths that it names are symbolic links: what the guard says of what it
        reaches, the links, and whether that is stricter than what it says of the call itself. `variables` are those
        that its line would find, as far as they may be told.
        """

    def asks(self, command: int) -> bool:
        """Whether a model's answer to the command of that number is waited for."""

    def agent_of(self, command: int) -> tuple[str, str, str] | None:
        """Which sub-agent gave the command of that number: its kind (`lead/explore`), name and path; `None` where the
        run's own machine did.
        """

    def noted(self) -> list[dict[str, Any]]:
        """What was told of plans (`intent_assessed`) and of drift (`goal_drifted`), as dicts."""

    def noted_json(self) -> str:
        """The same as JSON text."""

    def close(self) -> None:
        """Writes nothing any more: another process may go on with the journal."""

    @property
    def journal(self) -> str | None:
        """The journal so far, where it is kept in memory."""

@final
class StreamDecoder:
    """A streamed answer of a wire, decoded as its bytes come."""

    def __new__(cls, wire: str) -> StreamDecoder: ...
    def feed(self, chunk: bytes) -> list[_Delta]:
        """Takes bytes, cut anywhere; gives what is new."""

    @property
    def done(self) -> bool:
        """Whether the wire's last event has been seen."""

    def finish(self) -> tuple[str, list[_Delta]]:
        """The bytes have ended: the answer in the canonical form, and what became new at the very end."""

    def partial(self) -> str | None:
        """What has come so far and is whole enough to stand in a history."""

@final
class WireServer:
    """A server that speaks the protocols of the providers on a real socket. See `loopwright.testing`."""

    def __new__(
        cls, script: _Json, before: Callable[[str, str], tuple[int, str] | None] | None = None
    ) -> WireServer: ...
    @property
    def url(self) -> str:
        """`http://127.0.0.1:PORT`."""

    def requests(self) -> str:
        """What was received: JSON text of a list of `method`, `path`, `headers` and `body`; keys are left out."""

    def answer(self, path: str, body: str) -> tuple[int, str]:
        """The status and the body with which the script answers a request at `path`; nothing is sent."""

    def stored(self) -> str:
        """The conversations of the answers that are kept, by their ids: JSON text."""

    def forget(self, id: str | None = None) -> None:
        """Forgets an answer that was kept, or all."""

    def push(self, reply: _Json) -> None:
        """Adds a reply."""

    @property
    def pending(self) -> int:
        """Replies that have not been given yet."""

    @property
    def limited(self) -> int:
        """Requests that were over a limit."""

    @property
    def connections(self) -> tuple[int, int]:
        """Connections: open now, and opened in all."""

    @property
    def sockets(self) -> tuple[int, int]:
        """WebSocket connections: open now, and opened in all."""

    @property
    def bytes_read(self) -> int:
        """Bytes that were read, heads of requests and frames among them."""

    def cut_sockets(self) -> None:
        """Cuts each WebSocket that is open."""

    def stop(self) -> None:
        """Stops it; connections are closed."""

def prompts(journal: str) -> list[dict[str, Any]]:
    """The prompts of a journal's run: how much of each is the one before, and what changed."""

def replay(journal: str, policy: str | None = None) -> tuple[dict[str, Any], History, list[list[str]]]:
    """Feeds a journal to a new machine: what came of it, the messages at the end, the commands of each event.

    With the digest of a policy, only if the run went by that.
    """

def compare_journals(left: str, right: str) -> dict[str, Any] | None:
    """Where two journals part."""

def journal_head(text: str) -> tuple[str, str | None, str]:
    """The run's name, what whoever started it wrote, and the machine's configuration, as JSON."""

def journal_runs(path: str) -> str:
    """The runs of a store, as JSON."""

def journal_find(path: str, start: str | None = None) -> str:
    """The name of the run in a store that `start` begins; without it, of the only one."""

def journal_text(path: str, run: str, last: int | None = None) -> tuple[str, str | None]:
    """The lines of a run in a store, up to that of event `last`; and what kept the rest from being read."""

def journal_told(text: str) -> tuple[str, str, list[tuple[int, str]]]:
    """The run's name, its model, and what it told: numbers of events, and commands as JSON."""

def journal_labels(path: str) -> str:
    """The names and labels of the runs of a store, as JSON."""

def journal_file_label(path: str) -> str:
    """The name and label of the run in a file of its own, as JSON of the same form."""

def journal_delete(path: str, runs: list[str]) -> list[str]:
    """Deletes runs of a store, all or none; gives the names of those that were there."""

def journal_delete_file(path: str) -> None:
    """Deletes the file of a journal that nobody writes to, and what was saved of its run beside it."""

def journal_import(path: str, text: str) -> str:
    """Takes a run into a store from the lines of its journal; gives its name."""

def journal_close(path: str) -> None:
    """Closes a store that this process has open, as soon as no run needs it."""

def suspended(run: Run, open: Sequence[Command]) -> tuple[Ended, list[Command]] | None:
    """The outcome of a run so far, with the stop `suspended`, and its questions: those that are `open`, and those that
    their rounds have not come to yet. The run itself stays as it is. `None` if it can't be left.
    """

def shutdown() -> None:
    """Ends the I/O threads; called at exit."""

def journal_last_of(path: str, session: str, user: str | None = None) -> str | None:
    """The run of a store at whose end a session of a user goes on: the last one that did not fail. Raises `UsageError`
    with the code `run_not_ended` where one of them has not ended.
    """

def forget_this_machine() -> None:
    """Forgets the failures and the limits of all servers of this machine: their ports are used again."""

def encode_request(wire: str, request: str) -> str:
    """The body that a wire wants for a request."""

def decode_request(wire: str, body: str) -> str:
    """A request body of a wire in the canonical form."""

def encode_response(wire: str, response: str) -> str:
    """The answer as a wire would write it."""

def decode_response(wire: str, body: str) -> str:
    """An answer of a wire in the canonical form."""

def encode_message(wire: str, message: str) -> str:
    """One message as the element (or elements, separated by commas) of a wire's history."""

def decode_stream(wire: str, chunks: Sequence[bytes]) -> tuple[str, str]:
    """A streamed answer from its bytes, in whatever pieces: the answer and the deltas, in the canonical form."""

def encode_stream(wire: str, response: str, piece: int) -> list[tuple[str, str]]:
    """The answer as the events (name, data) that a wire would stream, text cut into pieces of about `piece` bytes."""

def decode_failure(status: int, body: str, retry_after: float | None = None) -> tuple[LoopwrightError, str]:
    """What an HTTP answer that is no success means: the exception, and the failure as JSON text."""

def canonical_request(request: str) -> str:
    """A request, checked and in the canonical form."""

def canonical_response(response: str) -> str:
    """A response, checked and in the canonical form."""

def canonical_message(text: str) -> str:
    """A message, checked and in the canonical form."""

def canonical_block(text: str) -> str:
    """A block, checked and in the canonical form."""

def json_members(text: str) -> list[tuple[str, str]]:
    """The members of a JSON object, in order, each value as it was written."""

def json_elements(text: str) -> list[str]:
    """The elements of a JSON array, each as it was written."""

def check_json(text: str, what: str) -> None:
    """Whether the text is one JSON value; if not, an error that says where it goes wrong."""

def search_is_down(error: str) -> bool:
    """Whether a provider's word for what went wrong with its search means the search, and not how it was asked."""

def limit_output(text: str, most: int) -> str:
    """Text of at most `most` characters: head, tail, and a line that says what was left out."""

@final
class ExtractedText:
    """New prose."""

    type: ClassVar[Literal["text"]]
    def __new__(cls, text: str, span: tuple[int, int]) -> Self: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    @property
    def text(self) -> str: ...
    @property
    def span(self) -> tuple[int, int]: ...

@final
class ExtractedReasoning:
    """New reasoning."""

    type: ClassVar[Literal["reasoning"]]
    def __new__(cls, text: str, span: tuple[int, int]) -> Self: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    @property
    def text(self) -> str: ...
    @property
    def span(self) -> tuple[int, int]: ...

@final
class ExtractedArguments:
    """More of a call's arguments, as JSON text."""

    type: ClassVar[Literal["arguments"]]
    def __new__(cls, index: int, text: str, span: tuple[int, int]) -> Self: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    @property
    def index(self) -> int: ...
    @property
    def text(self) -> str: ...
    @property
    def span(self) -> tuple[int, int]: ...

@final
class CallStarted:
    """A call began; its tool is known."""

    type: ClassVar[Literal["call_started"]]
    def __new__(cls, index: int, name: str, dialect: str, source: str, span: tuple[int, int]) -> Self: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    @property
    def index(self) -> int:
        """The call's place among the calls of the text, from 0."""

    @property
    def name(self) -> str: ...
    @property
    def dialect(self) -> str: ...
    @property
    def source(self) -> Literal["tagged", "fenced", "bare"]: ...
    @property
    def span(self) -> tuple[int, int]: ...

@final
class CallFinished:
    """A call ended, complete or not."""

    type: ClassVar[Literal["call_finished"]]
    def __new__(cls, call: ExtractedCall, span: tuple[int, int]) -> Self: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    @property
    def call(self) -> ExtractedCall: ...
    @property
    def span(self) -> tuple[int, int]: ...

@final
class Markup:
    """Markers that belong to no one call: of reasoning, of a section of calls."""

    type: ClassVar[Literal["markup"]]
    def __new__(cls, span: tuple[int, int]) -> Self: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    @property
    def span(self) -> tuple[int, int]: ...

_ProblemKind: TypeAlias = Literal[
    "unknown_tool",
    "incomplete",
    "repaired",
    "malformed",
    "too_many_calls",
    "arguments_too_large",
    "too_deep",
    "wrong_type",
    "invalid_utf8",
    "tool_result",
    "unread",
]

@final
class Problem:
    """Something to hear of: what went wrong, where, and what became of it."""

    type: ClassVar[Literal["problem"]]
    def __new__(cls, kind: str, message: str, call: int | None, dropped: str | None, span: tuple[int, int]) -> Self: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    @property
    def kind(self) -> _ProblemKind:
        """What went wrong, for programs; a `ProblemKind` of `loopwright.extraction`."""

    @property
    def message(self) -> str: ...
    @property
    def call(self) -> int | None:
        """The index of the call it is about."""

    @property
    def dropped(self) -> Literal["tool_result", "limit", "malformed"] | None:
        """Set if these bytes belong to nothing else."""

    @property
    def span(self) -> tuple[int, int]: ...

@final
class ExtractedCall:
    """A tool call found in text."""

    def __new__(
        cls,
        index: int,
        name: str,
        arguments_json: str,
        call_id: str | None,
        dialect: str,
        source: str,
        span: tuple[int, int],
        repaired: bool,
        complete: bool,
    ) -> Self: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    @property
    def index(self) -> int:
        """Its place among the calls of the text, from 0."""

    @property
    def name(self) -> str: ...
    @property
    def arguments_json(self) -> str:
        """The arguments as JSON text: exactly the argument deltas joined."""

    @property
    def arguments(self) -> dict[str, Any] | None:
        """The arguments, parsed; `None` if the call is not complete."""

    @property
    def call_id(self) -> str | None:
        """The id that the model gave it, where its dialect has one."""

    @property
    def dialect(self) -> str: ...
    @property
    def source(self) -> Literal["tagged", "fenced", "bare"]: ...
    @property
    def span(self) -> tuple[int, int]:
        """The bytes it came from, markers included."""

    @property
    def repaired(self) -> bool:
        """Whether its arguments were mended."""

    @property
    def complete(self) -> bool:
        """Whether its last byte was seen. One that isn't complete must not run."""

@final
class Region:
    """A stretch of the text and whose it is."""

    def __new__(cls, start: int, end: int, owner: str, reason: str | None = None) -> Self: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def owner(self) -> Literal["text", "reasoning", "call", "markup", "dropped"]: ...
    @property
    def reason(self) -> Literal["tool_result", "limit", "malformed"] | None:
        """Why it was dropped."""

    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Extraction:
    """What a whole text holds."""

    def __new__(
        cls,
        calls: tuple[ExtractedCall, ...],
        prose: str,
        reasoning: str,
        problems: tuple[Problem, ...],
        spans: list[Region],
    ) -> Self: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    @property
    def calls(self) -> tuple[ExtractedCall, ...]: ...
    @property
    def prose(self) -> str:
        """What is for people, byte for byte."""

    @property
    def reasoning(self) -> str: ...
    @property
    def problems(self) -> tuple[Problem, ...]: ...
    @property
    def spans(self) -> list[Region]:
        """Whose each byte is: regions that tile the text."""

@disjoint_base
class ToolCallParser:
    """Reads a reply in pieces, as it is written."""

    def __new__(
        cls,
        tools: PreparedTools | None = None,
        dialects: list[str] | None = None,
        *,
        quoted_calls: str = "ignore",
        reasoning_calls: str = "ignore",
        unknown_tool: str = "text",
        bare_json: bool = False,
        starts_in_reasoning: bool = False,
        repair: bool = True,
        max_calls: int = 128,
        max_argument_bytes: int = 16777216,
        max_depth: int = 128,
    ) -> Self: ...
    def feed(self, data: str | bytes | bytearray | memoryview) -> list[_Extracted]:
        """Takes the next piece, cut anywhere; gives the events it completes."""

    def whole(self, text: str | bytes | bytearray | memoryview) -> Extraction:
        """Takes a whole text: fed once, and finished."""

    def finish(self) -> list[_Extracted]:
        """Says that nothing follows; gives the last events."""

_Extracted: TypeAlias = (
    ExtractedText | ExtractedReasoning | CallStarted | ExtractedArguments | CallFinished | Markup | Problem
)

@disjoint_base
class PreparedTools:
    """Tools whose schemas are compiled."""

    def __new__(cls, pairs: Sequence[tuple[str, str]], tools: tuple[Any, ...]) -> Self: ...
    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tools, in order."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __getnewargs__(self) -> tuple[Any, ...]: ...

def render_calls(calls: str, dialect: str) -> str:
    """Calls (JSON text of a list of tool uses) as a dialect writes them."""

def render_results(results: str, dialect: str | None = None) -> str:
    """Results (JSON text of a list of tool results) as the models of a dialect are given them."""

def reasoning_for(model: str) -> bool:
    """Whether a model's raw reply is known to begin inside reasoning."""

def dialect_for(model: str) -> str | None:
    """The name of the dialect that a model is known to write."""

def dialects() -> list[tuple[str, str, str]]:
    """Every dialect: its name, who writes it, and a call as it writes it."""

@final
class Repair:
    """One thing that was put right."""

    def __new__(cls, what: str, span: tuple[int, int]) -> Self: ...
    @property
    def what(self) -> str:
        """What was done."""

    @property
    def span(self) -> tuple[int, int]:
        """The bytes of the text that it was done to; empty where something was added."""

    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Repaired:
    """What became of a text that should have been JSON."""

    def __new__(cls, json: str, repairs: tuple[Repair, ...], complete: bool) -> Self: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    @property
    def json(self) -> str:
        """Valid JSON."""

    @property
    def value(self) -> Any:
        """The JSON, parsed."""

    @property
    def repairs(self) -> tuple[Repair, ...]:
        """What was put right, in the order of the text; empty if it was valid."""

    @property
    def complete(self) -> bool:
        """Whether the JSON had come to its end. If not, the text was cut off."""

@final
class FoundJson:
    """The JSON of an answer."""

    def __new__(
        cls, json: str, place: str, span: tuple[int, int], repairs: tuple[Repair, ...], complete: bool
    ) -> Self: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    @property
    def json(self) -> str:
        """The JSON as it was written, or mended."""

    @property
    def value(self) -> Any:
        """The JSON, parsed."""

    @property
    def span(self) -> tuple[int, int]:
        """The bytes of the text it came from."""

    @property
    def place(self) -> Literal["whole", "fenced", "embedded"]:
        """Where it stood."""

    @property
    def repairs(self) -> tuple[Repair, ...]:
        """What was put right."""

    @property
    def complete(self) -> bool:
        """Whether the JSON had come to its end. If not, the text was cut off."""

def answer_deltas(event: Event, request: Request) -> list[Any]:
    """The deltas of a model's whole answer to `request`, as who watches is shown them; none for other events."""

def problem_kinds() -> list[str]:
    """The kinds of problems, by name."""

def repair_json(text: str | bytes | bytearray | memoryview) -> Repaired:
    """Makes valid JSON of what should be JSON, and says what it repaired."""

def find_json(text: str, schema: str | None = None) -> FoundJson:
    """The JSON in an answer; with a schema (JSON text), the first that fits."""

def schema_fault(schema: str) -> tuple[str, str, str] | None:
    """What is wrong with a JSON schema (JSON text): where, what, and what to do; `None` if it is one."""

@final
class TokenCount:
    """How many tokens something is, and how sure that is."""

    @property
    def tokens(self) -> int:
        """The count, or the best estimate of it."""
    @property
    def margin(self) -> int:
        """How many tokens it may be off either way, nineteen times of twenty; 0 if it is exact."""
    @property
    def upper_bound(self) -> int:
        """What it is at most, but for one time in a hundred."""
    @property
    def exact(self) -> bool:
        """Whether the count is exact."""

@final
class TokenCounter:
    """Counts tokens for a model and remembers what it counted: a growing history costs its new messages."""

    def __new__(cls, model: str | None = None, encoding: str | None = None) -> Self: ...
    def count(self, text_or_messages: Any) -> TokenCount:
        """A text; a message, or a list of them (ours, or dicts in the shape of Anthropic or OpenAI); or a request.

        What begins with messages that were `reported` counts as what the provider said, and only what is new is
        counted here.
        """
    def learn(self, counted: TokenCount, reported: int) -> None:
        """Tells what the provider reported for what was counted as `counted`, so that the next count is closer.

        It learns a ratio for each kind of text, as much as there was of it.
        """
    def reported(self, messages: Any, tokens: int) -> None:
        """Tells what the provider reported for these messages or this request (all of its prompt, cached or not).

        Counts of what begins with them go on from there, and the ratios learn from what two reports differ by.
        """
    @property
    def encoding(self) -> str:
        """The encoding: the model's own, or the one to start from."""
    @property
    def ratio(self) -> float:
        """Tokens of the model for each token of the encoding, prose and code together; 1 where it is its own."""
    @property
    def ratios(self) -> dict[str, float]:
        """The same for each kind of text.

        They are prose, code, dense (base64, hashes), wide (Chinese and others), other (Cyrillic and others), and frame
        (what messages, calls and results cost to be there).
        """

def count_tokens(
    text_or_messages: Any,
    model: str | None = None,
    encoding: str | None = None,
    upper_bound: bool = False,
) -> int:
    """How many tokens a text is, or messages are: exact for models of OpenAI, an estimate for others.

    Messages are a list (ours, or dicts in the shape of Anthropic or OpenAI) or a whole request; they cost what a
    provider adds for roles, tools, pictures and results. With `upper_bound`, an estimate is too low less than once in
    a hundred times. No network, ever.
    """

def estimate_tokens(text: str, encoding: str | None = None) -> int:
    """About how many tokens a text is: exact where it is short, from a sample where it is long."""

def encode_tokens(text: str, encoding: str | None = None) -> list[int]:
    """The tokens of a text. What looks like a special token is plain text."""

def decode_tokens(tokens: Sequence[int], encoding: str | None = None) -> str:
    """The text of tokens; bytes that are no text become U+FFFD."""

@final
class ContextArchive:
    """What left a request, under handles."""

    def __new__(cls) -> Self: ...
    @staticmethod
    def from_json(text: str) -> ContextArchive:
        """An archive from what `to_json` gave."""

    def to_json(self) -> str:
        """The archive as JSON text."""

    def get(self, handle: str) -> str | None:
        """The message under a handle, in the canonical form."""

    def answer(self, handle: str, find: str, from_line: int, limit: int) -> str:
        """What a model is told that asks for something back."""

    def recall(self, handle: str, from_line: int, limit: int) -> str:
        """What is under a handle, as text, from a line on."""

    def find(self, words: str, limit: int) -> str:
        """The lines that hold these words."""

    def handles(self) -> list[str]:
        """All handles."""

    def __len__(self) -> int: ...
    def __contains__(self, handle: str, /) -> bool: ...

@final
class ContextReport:
    """What was done, message by message; taken apart when it is looked at."""

    @staticmethod
    def from_json(text: str) -> ContextReport:
        """A report from what `to_json` gave."""
    def to_json(self) -> str:
        """The report as JSON text."""
    def entries(
        self,
    ) -> list[tuple[int, str, str, int, int, int | None, str | None, float, str]]:
        """The messages given, in order."""
    @property
    def repairs(self) -> list[tuple[int, str]]:
        """What had to be put right first."""
    @property
    def before(self) -> int:
        """Tokens before."""
    @property
    def after(self) -> int:
        """Tokens now."""
    @property
    def budget(self) -> int:
        """The budget."""
    @property
    def first_changed(self) -> int | None:
        """The first message that is no longer as it was."""

def compress_context(
    messages: list[Any],
    shape: str,
    budget: int,
    policy: str | None,
    count: Callable[[str], int] | TokenCounter | None,
    model: str | None,
    archive: ContextArchive,
    written: Callable[[Any, int], str],
    made: Callable[[str], list[Any]],
) -> tuple[list[Any], ContextReport]:
    """Makes messages fit into a budget.

    `written` gives the JSON text of a message from it and its place, `made` the messages of JSON text.
    """

def count_context(
    messages: list[Any],
    shape: str,
    count: Callable[[str], int] | TokenCounter | None,
    model: str | None,
    written: Callable[[Any, int], str],
) -> int:
    """Tokens of a list of messages, with what a request costs beside them."""

def assemble_context(
    system: str,
    memory: str,
    goal: str,
    plan: str,
    gathered: Sequence[tuple[str, str]],
    shape: str,
) -> tuple[str, list[str]]:
    """The head of a request in its fixed order: instructions, and each message before the history as JSON text."""

def window_of(model: str) -> int | None:
    """The tokens of a model's window, where its name is known."""

def count_tools(tools: str, count: Callable[[str], int] | TokenCounter | None, model: str | None) -> int:
    """Tokens that definitions of tools take in a request."""

@final
class Window:
    """A history that grows inside a budget."""

    def __new__(
        cls,
        budget: int,
        shape: str,
        policy: str | None,
        count: Callable[[str], int] | TokenCounter | None,
        model: str | None,
        high: float,
        low: float,
    ) -> Self: ...
    @staticmethod
    def from_json(
        text: str, shape: str, count: Callable[[str], int] | TokenCounter | None, model: str | None
    ) -> Window:
        """A window that was saved."""

    def to_json(self) -> str:
        """The window as JSON text."""

    def append(self, message: Any, written: Callable[[Any, int], str]) -> None:
        """Adds a message."""

    def replay(self, messages: list[Any], written: Callable[[Any, int], str]) -> None:
        """Fills an empty window with a history that went through requests before."""

    def reported(self, tokens: int) -> None:
        """What the provider counted for the request that the view was."""

    def settle(self) -> bool:
        """Makes the view fit, if it is too large; gives whether it had to."""

    def compact(self) -> None:
        """Makes the view anew, down to the low mark."""

    def view(self, start: int) -> list[str]:
        """The view from message `start` on, as JSON text."""

    def report(self) -> ContextReport | None:
        """What the last compaction did."""

    def archive(self) -> ContextArchive:
        """What left the view."""

    def set_summary(self, words: str | None) -> None:
        """Words of a summarizer, for the next compaction."""

    @property
    def tokens(self) -> int:
        """Tokens of the view."""

    @property
    def expected(self) -> int:
        """Tokens of the view by what the provider reported, where it did."""

    @property
    def budget(self) -> int:
        """The budget."""

    @property
    def compactions(self) -> int:
        """How many compactions there were."""

    @property
    def repairs(self) -> list[tuple[int, str]]:
        """What had to be put right of what was appended."""

    def __len__(self) -> int: ...

def fence_support() -> tuple[int | None, bool, str | None, list[str]]:
    """What keeps a fence on this machine: the version of Landlock's interface, whether system calls are filtered, why
    there is no fence, and what it leaves open.
    """

@final
class Fence:
    """A fence for one command: what it may read, write and reach."""

    def __new__(
        cls,
        workspace: str,
        temporary: str,
        *,
        home: str | None,
        env: Mapping[str, str],
        read: Sequence[str],
        write: Sequence[str],
        network: bool,
        sockets: bool,
    ) -> Self: ...
    def grant(self, line: str) -> tuple[list[Path], bool]:
        """Grants what a line needs that may run. Gives the caches that it wants there, and whether it runs unfenced."""

    def spawn(self, argv: Sequence[str], cwd: str) -> tuple[int, int]:
        """Starts a command behind the fence, without input: its process, and the end of a pipe with all it writes."""

    def refusals(self, output: str) -> list[tuple[str, Path | None]]:
        """What the fence seems to have refused, from what a command wrote."""

@final
class Policy:
    """Rules for calls; `loopwright.guard.Policy` is the one to use."""

    def __new__(cls, sources: Sequence[tuple[str, str, str]]) -> Self: ...
    @staticmethod
    def built_in() -> Policy:
        """The rules that the package ships."""

    @property
    def sources(self) -> list[tuple[str, str, str]]:
        """The files: tier, name and text of each."""

    @property
    def digest(self) -> str:
        """What all the text comes to."""

    @property
    def sandbox(self) -> tuple[str, bool] | None:
        """Whether commands run fenced, by the tier that says so."""

    def rules(self) -> str:
        """The rules, as JSON text."""

    def to_json(self) -> str:
        """The policy as configurations of machines hold it."""

    def decide(
        self,
        tool: str,
        arguments: _Json,
        *,
        risk: str,
        by_arguments: bool,
        home: str | None,
        workspace: str | None,
        cautious: str,
        task: str | None,
        commands: Commands | None = None,
    ) -> str:
        """What may be done with a call, as JSON text."""

    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

def tool_flow(name: str, read_only: bool, trust: str | None, effects: Sequence[str] | None) -> dict[str, Any]:
    """What a tool brings in and does, as its author declares it, else as its name says: `trust` and `effects`."""

@final
class ApprovalDesk:
    """Requests that are open, and yeses that are kept; `loopwright.guard.Approvals` is the one to use."""

    def __new__(cls, session: str, timeout: float, ttl: float) -> Self: ...
    def ask(
        self,
        tool: str,
        arguments: _Json,
        *,
        risk: str,
        why: str,
        hash: str | None,
        secret: bool,
        home: str | None,
        workspace: str | None,
        now: float,
        timeout: float | None,
        links: dict[str, str] | None = None,
    ) -> tuple[int | None, str | None]:
        """Asks about a call: the number of a request, or the words of a yes that was kept."""

    def decide(self, id: int, decision: str, hash: str | None, now: float) -> str | None:
        """Decides: `allow`, `once`, `deny`, `abort` or `edit`. Gives what the yes is kept for, if it is."""

    def describe(self, id: int) -> str:
        """What a yes would be kept for, in words."""

    def again(self, id: int, now: float) -> str:
        """Lets the call of an expired request run when it comes again."""

    def lapse(self, id: int) -> None:
        """The time of a request is over."""

    def withdraw(self, id: int) -> None:
        """A request is taken back."""

    def requests(self, now: float) -> str:
        """All requests, open and expired, as JSON text."""

    def kept(self, now: float) -> str:
        """The yeses that are kept, as JSON text."""

    def forget(self) -> None:
        """Forgets every yes."""

def classify_sensitivity(
    text: str, source: str | None, labels: dict[str, str] | None
) -> tuple[str, str | None, list[tuple[str, str, int, int, str]]]:
    """The class of a text, the label of its source, and what was found."""

def redact(text: str) -> str:
    """The text without its hits; the very same object if there are none."""

def redact_with_hits(text: str) -> tuple[str, list[tuple[str, str, int, int, str]]]:
    """The text without its hits, and what they were."""

def redact_json(text: str) -> str:
    """JSON, or lines of JSON, without its hits."""

def sensitivity_detectors() -> list[tuple[str, str, str]]:
    """All detectors: the name, the level, what a hit is."""

def keep_own_key(key: str) -> None:
    """Remembers a key of this process that no endpoint holds: texts are scrubbed of it."""

def without_own_keys(text: str) -> str:
    """The text without the keys of this process, in whatever form; the very same object if there are none."""

def is_secret_variable(name: str, value: str) -> bool:
    """Whether a variable of the environment holds something that opens something: a password, a token, a key, also one
    of this process in whatever form, an address with a password in it. Where the value says nothing, a name that
    promises a credential is believed.
    """

_StuckVerdict: TypeAlias = tuple[str, list[tuple[str, str]], int, int, int, str, str]

@final
class StuckDetector:
    """Finds repetition in what a run does and says."""

    def __new__(cls, policy: str | None = None) -> Self: ...
    @staticmethod
    def from_json(text: str) -> StuckDetector:
        """A detector from what `to_json` gave."""

    def to_json(self) -> str:
        """The detector as JSON text."""

    def record(
        self,
        name: str,
        arguments: str,
        result: str,
        failed: bool = False,
        kind: str | None = None,
        state: str | None = None,
    ) -> _StuckVerdict | None:
        """Takes a call and its result."""

    def record_round(
        self, pairs: Sequence[tuple[str, str, str, bool, str | None]], state: str | None = None
    ) -> _StuckVerdict | None:
        """Takes the calls of one round, with their results."""

    def record_text(self, text: str) -> _StuckVerdict | None:
        """Takes a reply that holds no call."""

    def feed(self, delta: str) -> _StuckVerdict | None:
        """Takes a piece of a reply as it streams."""

    def end_reply(self) -> None:
        """The reply that streamed has ended."""

    def reset(self) -> None:
        """Forgets everything."""

    def verdict(self) -> _StuckVerdict | None:
        """What was found last."""

@final
class Momentum:
    """How well things go."""

    def __new__(cls, policy: str | None = None, momentum: str | None = None) -> Self: ...
    def to_json(self) -> str:
        """The momentum as JSON text."""

    def record(self, succeeded: bool) -> None:
        """Takes the next result."""

    def score(self) -> float:
        """From 0 to 1."""

    def pace(self) -> str:
        """`good`, `slow` or `pause`."""

    def seen(self) -> tuple[int, int]:
        """Successes and results in the window."""

def breakpoint_of(stop_reason: str) -> str | None:
    """The name of the breakpoint that a stop reason is, if it is one."""

def continuation(standing: str) -> str | None:
    """What to say so that a model goes on; `standing` as JSON text."""

@final
class AssessedRisk:
    """How much harm a call may do."""

    @property
    def level(self) -> Literal["safe", "cautious", "confirm", "dangerous"]: ...
    @property
    def rule(self) -> str: ...
    @property
    def asks(self) -> bool:
        """Whether a person is asked before it runs, whatever the task says."""

    @property
    def loses(self) -> bool: ...
    @property
    def why(self) -> str: ...
    @property
    def part(self) -> tuple[str, int, int, str] | None:
        """The argument that decided, the bytes of its text, and the text there."""

@final
class Commands:
    """Records of programs that a user has added; `loopwright.guard.Commands` is the one to use."""

    def __new__(cls, name: str, text: str) -> Commands: ...
    @property
    def name(self) -> str:
        """What errors call the file."""

    @property
    def text(self) -> str:
        """The text of the file."""

    @property
    def programs(self) -> list[str]:
        """The programs that it has records of."""

    @property
    def replaced(self) -> list[str]:
        """The programs whose record here no longer counts."""

    def to_json(self) -> str:
        """The records as configurations of machines hold them."""

@final
class RiskGround:
    """What is known of the machine that a call runs on."""

    def __new__(
        cls,
        workspace: str | None,
        cwd: str | None,
        home: str | None,
        temporary: Sequence[str],
        commands: Commands | None,
    ) -> RiskGround: ...

def visible(text: str) -> str:
    """A text with what a person can't see written out."""

def assess_shell(text: str, ground: RiskGround) -> AssessedRisk:
    """The risk of shell text."""

def assess_arguments(
    name: str, arguments: _Json, declared: str | None, by_arguments: bool, ground: RiskGround
) -> AssessedRisk:
    """The risk of a call; `declared` is the level of its tool."""

_Place: TypeAlias = tuple[int, int]

def find_next_step(text: str) -> tuple[_Place, _Place, _Place] | None:
    """The places of the sentence, of the cue and of the step."""

def reply_signals(text: str) -> tuple[bool, bool, list[tuple[str, str, _Place, _Place]]]:
    """Whether a reply claims to be done, whether it asks, and all that was found."""

def assess_intent(
    message: str, history: Sequence[str], sub_agents: Sequence[str]
) -> tuple[str, float, list[str], list[tuple[str, _Place]], list[tuple[str, float]], list[str], str | None, bool, bool]:
    """How to take up a request."""

@final
class GoalDrift:
    """The goal of a conversation, and how its messages stand to it."""

    def __new__(cls, goal: str, enter: float, leave: float) -> Self: ...
    @staticmethod
    def from_json(text: str) -> GoalDrift:
        """A conversation from what `to_json` gave."""

    def to_json(self) -> str:
        """The conversation as JSON text."""

    @staticmethod
    def background() -> list[str]:
        """Texts that have nothing to do with each other."""

    def use_vectors(
        self, background: Sequence[Sequence[float]], goal: Sequence[float], last: Sequence[float] | None = None
    ) -> None:
        """From now on vectors are given."""

    def observe(
        self, message: str, vector: Sequence[float] | None = None
    ) -> tuple[float, float, str, bool, float, list[tuple[_Place, float]], list[str]]:
        """Takes the next message."""

    def revise(self, goal: str, vector: Sequence[float] | None = None) -> None:
        """The user has another goal now."""

    def goal(self) -> str:
        """The goal."""

    def last(self) -> str:
        """The message before: the goal at first."""

    def former_goals(self) -> list[str]:
        """Goals that the user gave up, oldest first."""

    def state(self) -> str:
        """`on_goal` or `drifted`."""

    def seen(self) -> int:
        """Messages so far."""

@final
class MemoryStore:
    """The memory in a file, until it is closed."""

    def __new__(cls, path: str, session: str, read_only: bool, patience: float) -> Self: ...
    def remember(
        self, notes: str, embedder: str | None = None, vectors: Sequence[Sequence[float]] | None = None
    ) -> list[int]:
        """Remembers notes, a JSON list; with `vectors`, what `embedder` made of them."""

    def recall(self, query: str) -> str:
        """The hits for a query, both JSON."""

    def inject(self, query: str, hits: int, characters: int) -> tuple[str, str]:
        """The text for a model, and its hits as JSON."""

    def recollect(self, query: str, hits: int, characters: int) -> str:
        """What a run is given for a prompt: JSON with what is trusted, the rest, and the hits."""

    def preferences(self, user: str | None = None) -> str:
        """The preferences that stand, oldest first, as JSON."""

    def newest(self, query: str) -> str:
        """The memories that live, newest first, as JSON."""

    @staticmethod
    def turn(run: Run, about: str) -> str:
        """The turn of a run that has ended, as JSON without its secrets."""

    def queue_turn(self, turn: str) -> list[int]:
        """Queues the work that follows a turn; gives the numbers of its pieces."""

    def expect_turn(self, run: str, instead: str | None, journal: str, about: str) -> None:
        """Notes down that a run begins, and where its journal is, in place of an attempt before it."""

    def lost_turns(self) -> str:
        """The runs of processes that are gone whose turns may be missing, as JSON."""

    def settle_turn(self, lost: str, text: str | None) -> bool:
        """Queues the turn of a lost run (JSON, one of `lost_turns`), which is in the lines of its journal, if it has
        ended; without these, forgets that there was one. Whether that was done, and by nobody else before.
        """

    def claim(self, seconds: float) -> str | None:
        """Takes the next piece of work for so many seconds, as JSON."""

    def perform(self, job: str) -> list[int]:
        """Does a piece of work by rule; gives the numbers of the memories that came of it."""

    def reflect(self, job: str, thoughts: str) -> list[int]:
        """Ends the work of looking back with what somebody thought, a JSON list."""

    @staticmethod
    def reflection_prompt(job: str, adversarial: bool, in_object: bool = False) -> str:
        """What a model is asked that looks back on the turn of a piece of work; `in_object`: for an answer that is an
        object whose member `patterns` is the list.
        """

    def work_failed(self, job: str, error: str, for_good: bool) -> str | None:
        """A piece of work failed; gives where it stands then, as JSON."""

    def work(self, state: str | None = None) -> str:
        """The work that is known, as JSON; in one state alone, if given."""

    def work_due(self) -> float | None:
        """Seconds until the next piece of work is due."""

    def queue_consolidation(self, every: float) -> bool:
        """Queues tidying up if the last time is so many seconds ago."""

    def audit(self, wanted: str) -> str:
        """What the audit holds, as JSON."""

    def episodes(self, session: str | None, limit: int) -> str:
        """The episodes that are kept, newest first, as JSON."""

    def reflections(self, category: str | None) -> str:
        """What was learned from looking back, as JSON."""

    def sync_file(self, path: str, user: str | None) -> str:
        """Brings a file of preferences and memory in step; what was done, as JSON."""

    def without_vectors(self, ids: Sequence[int]) -> list[tuple[int, str]]:
        """Those of these memories of which no embedder has made a vector."""

    def keep_vectors(self, embedder: str, vectors: Sequence[tuple[int, Sequence[float]]]) -> None:
        """Keeps what an embedder made of memories that are there."""

    @staticmethod
    def user_key(name: str) -> str:
        """A user's name without what people overlook: case, white space and composition."""

    @staticmethod
    def audit_types() -> list[tuple[str, str]]:
        """The types of events of the audit, and what each says."""

    @staticmethod
    def admitted(texts: Sequence[str]) -> list[str]:
        """Texts without what must not be kept."""

    def why(self, id: int) -> str:
        """Where a memory comes from, as JSON."""

    def forget(self, id: int, erase: bool) -> str:
        """Forgets a memory; gives what went with it, as JSON."""

    def forget_user(self, user: str) -> str:
        """Forgets a user and erases what was kept of that one; gives what went, as JSON."""

    def preview_user(self, user: str) -> str:
        """What `forget_user` would give; nothing is changed."""

    def relate(
        self,
        subject: str,
        relation: str,
        object: str,
        source: str | None,
        memory: int | None,
        trust: str,
        user: str | None,
    ) -> None:
        """Keeps a relation between two entities."""

    def neighbours(self, entity: str, relation: str | None, distance: int, limit: int, user: str | None) -> str:
        """The entities around one, as JSON."""

    def consolidate(self, repeats: int) -> str:
        """Merges and promotes by rule; what was done, as JSON."""

    def consolidated_at(self) -> float | None:
        """When that was done last."""

    def stats(self) -> str:
        """How much there is, as JSON."""

    def close(self) -> None:
        """Lets go of the file."""

    @staticmethod
    def relations() -> list[str]:
        """The relations that there are."""

    @staticmethod
    def hashed(texts: Sequence[str]) -> tuple[str, list[list[float]]]:
        """The name under which vectors of feature hashing are kept, and those of some texts."""

    @staticmethod
    def longest_text() -> int:
        """The longest text, in bytes."""

def check_sanity(messages: History, stuck: str | None = None, momentum: str | None = None) -> dict[str, Any]:
    """Whether what these messages tell of is sane; policies as JSON text."""

def summarize(messages: History) -> dict[str, Any]:
    """What is worth keeping of these messages."""

def summary_words(summary: str, chars: int) -> str:
    """A summary (JSON text) in words, at most about so many characters."""

def render_report(report: str, style: str, form: str) -> str:
    """A report of a research, as JSON, written out: `form` is `markdown` or `html`."""

@final
class PriceTable:
    """Prices by provider and model: those that come with the engine, and what is laid over them."""

    def __new__(cls) -> Self: ...
    def lay(self, text: str) -> None:
        """Lays a table (TOML text) over this one."""

    def of(self, name: str, batch: bool = False) -> tuple[float, float, float | None, float | None] | None:
        """The price of `provider:model`, or that in a batch (input, output, read from the cache, written to it); `None`
        where it is not known.
        """

    @property
    def as_of(self) -> str | None:
        """The day of the prices."""

    def names(self) -> list[str]:
        """All models that have a price: `provider:model`."""

def judge_complexity(text: str) -> Complexity:
    """How hard a task is, by its words: `simple`, `moderate`, `complex` or `breaking`."""

def check_options(options: str) -> None:
    """Checks options that are those of a turn: each may be left out. Raises a `UsageError` that names the first that
    can't be.
    """

def cost(price: tuple[float, float, float | None, float | None], counts: tuple[int, int, int, int, int]) -> float: ...
def judge_claim(claim: str) -> Complexity:
    """How many requests checking a claim deserves, by its words; the names are those of `judge_complexity`."""

def is_limit(stop_reason: str) -> bool:
    """Whether a limit of the budget is what a stop reason names."""

def complexities() -> list[tuple[Complexity, int]]:
    """Each complexity, and the requests to a model that it allows."""

@final
class Background:
    """How alike two texts are that have nothing to do with each other, for one embedder."""

    def __new__(cls, mean: float, deviation: float, pairs: int = 0) -> Self: ...
    @staticmethod
    def measure(vectors: Any) -> Background:
        """Measures it in vectors of a corpus: all pairs of a small one, 20,000 of a large one, always the same."""

    @property
    def mean(self) -> float:
        """The mean cosine of two texts."""

    @property
    def deviation(self) -> float:
        """Its standard deviation."""

    @property
    def pairs(self) -> int:
        """Pairs that were looked at."""

    def z(self, cosine: float) -> float:
        """How many standard deviations a cosine lies above the background."""

    def cosine(self, z: float) -> float:
        """The cosine that lies so many standard deviations above the background."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __getnewargs__(self) -> tuple[float, float, int]: ...

def analysis_select(hyde: Any, chunks: Any, kept: Any, policy: str) -> list[tuple[int, int, float, float, float]]:
    """The best chunks of a cycle; `policy` as JSON text. Chunk, topic, score, relevance, novelty."""

def analysis_coverage(topics: Any, chunks: Any) -> list[float]:
    """The best cosine of each topic."""

def analysis_gain(prev: Sequence[tuple[str, float]], now: Sequence[tuple[str, float]]) -> float | None:
    """How much coverage changed, over the names that both have."""

def analysis_trend(gains: Sequence[float], policy: str) -> tuple[str, str]:
    """The trend's name and words."""

def analysis_enough(
    history: Sequence[float], policy: str, accepted: int | None, claims: int | None
) -> tuple[str, str] | None:
    """The name and words of the rule that says it is enough."""

def analysis_latent(
    chunks: Any, outline: Any, policy: str
) -> list[tuple[list[int], list[float], int | None, float, bool]]:
    """Clusters of chunks, held against an outline. Members, centre, topic, similarity, novel."""

def analysis_nearest(to: Any, rows: Any) -> tuple[int, float] | None:
    """The nearest row and its cosine."""

def analysis_usable(rows: Any, width: int | None = None) -> list[int]:
    """The places of the vectors that will do."""

def analysis_cut(cut: str, background: Background | None, difference: bool) -> float:
    """A threshold as a cosine, or as a difference of cosines."""

@final
class WebTask:
    """A fetch or a request under way."""

    def abort(self) -> None:
        """Stops it and closes its connection."""

def fetch_text(url: str, options: Any) -> dict[str, Any]:
    """Fetches a page and reads it as text. Blocks, with the interpreter free for others."""

def read_text(body: bytes, url: str, content_type: str | None, options: Any) -> dict[str, Any]:
    """Reads bytes that came from anywhere as the page at `url`."""

def web_request(call: Any) -> tuple[int, float | None, bytes]:
    """Makes a request. Status, seconds to wait, body."""

def embed_texts(endpoint: Endpoint, texts: Sequence[str], options: Any) -> tuple[list[list[float]], int]:
    """Makes vectors of texts: the vectors, and the tokens that were counted. Blocks."""

@final
class Breaker:
    """Leaves a service alone for a while after failures in a row."""

    def __new__(cls, threshold: int = 3, cooldown: float = 30.0) -> Self: ...
    def check(self, now: float) -> float | None:
        """`None` if a call may be made at `now`, else the seconds until one may be tried.

        A call that may be made after the breaker was open is the one probe: say what came of it.
        """

    def success(self) -> None:
        """A call went well."""

    def failure(self, now: float) -> None:
        """A call failed."""

    def cancelled(self) -> None:
        """A call was given up: nothing is known."""

@final
class FolderWalk:
    """The paths in a folder, relative to it, but for those that ignore files name.

    Folders come before what they hold, in order of names. With `glob` only what fits and is no folder is there; with
    `anywhere` it is enough that the name alone fits. In a glob `*`, `?` and `[abc]` stay within a name, `**` goes over
    folders, `{a,b}` is either, and a backslash takes the meaning off what follows. Error `invalid_pattern`.
    """

    def __new__(
        cls,
        root: str | PathLike[str],
        *,
        depth: int,
        most: int,
        glob: str | None = None,
        anywhere: bool = False,
    ) -> Self: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> str: ...

@final
class LinePattern:
    """An expression that lines are searched for, in a time that its length and that of the text bound.

    There is no look-around and no back-reference. Error `invalid_pattern`.
    """

    def __new__(cls, pattern: str, *, ignore_case: bool = False) -> Self: ...
    def lines(
        self, data: bytes, most: int, seconds: float, cancelled: Callable[[], bool]
    ) -> tuple[list[tuple[int, str]], str | None] | None:
        """The first `most` lines of a file that fit, with their numbers, and why there are no others.

        "more", "over" or `None`. `None` at all if the file is no text. It is over after `seconds`, or when `cancelled`
        gives true.
        """

@final
class LocalIndex:
    """Documents to search in by their passages."""

    def __new__(cls, documents: Sequence[tuple[str, str]]) -> Self: ...
    @staticmethod
    def of_folders(folders: Sequence[str | PathLike[str]]) -> LocalIndex:
        """The text files of folders, as gathering reads them: ignore files honoured, markup left out."""

    def __len__(self) -> int: ...
    @property
    def problems(self) -> list[str]:
        """What could not be read: path and reason."""

    def document(self, at: int) -> tuple[str, str] | None:
        """The name and text of a document."""

    def search(self, query: str, k: int) -> list[tuple[int, float, tuple[int, int], str, int]]:
        """The documents whose passages fit a query best.

        Which document, its score, where its best passage stands in characters, its headings, its line.
        """

@final
class RetrieveIndex:
    """Passages to search in."""

    def __new__(cls) -> Self: ...
    def add(self, texts: Sequence[str], vectors: Sequence[Sequence[float]] | None = None) -> None:
        """Adds passages, with the vectors of an embedder if there is one."""

    def prepare(self) -> None:
        """Looks for the directions of the corpus, if that was not done since the last passage came."""

    def search(
        self,
        query: str,
        k: int,
        vector: Sequence[float] | None = None,
        *,
        feedback: bool = True,
        lsa: bool = True,
    ) -> list[tuple[int, float]]:
        """Numbers and scores of the best `k` passages."""

    def support(self, query: str) -> tuple[float, float]:
        """How likely the passages hold an answer, and from what on they are taken to."""

    def missing(self, query: str) -> list[str]:
        """The words of a query that stand in no passage."""

    def __len__(self) -> int: ...

def retrieve_fuse(rankings: Sequence[tuple[Sequence[int], float]], k: int) -> list[tuple[int, float]]:
    """Joins rankings by reciprocal rank."""

def check_citations(text: str, sources: str, question: str = "", profile: str = "plain") -> str:
    """Holds a text against sources (JSON); gives what is wrong and what is cited, as JSON."""

def quote_sources(
    question: str, sources: str, least_coverage: float | None = None, most: int = 3, trusted: bool = False
) -> str:
    """An answer made of quotes from sources (JSON), as JSON."""

def retrieve_topics(texts: Sequence[str], most: int) -> list[str]:
    """The words that mark texts, most telling first."""
