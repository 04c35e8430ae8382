"""`Model`: a model by its name, where it lives and how it is asked; `ModelSettings`: the parameters of its requests."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypedDict, cast

from . import _core
from ._dataclasses import dataclass, field
from ._words import only_options
from .errors import UsageError

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from .models import Responds, Streams

__all__ = [
    "Model",
    "ModelSettings",
    "batch_of",
    "continued_of",
    "is_model",
    "machine_settings",
    "once",
    "only_first",
    "rates_of",
    "sent_headers",
]


class ModelSettings(TypedDict, total=False):
    """Parameters of the requests to a model: `Model("…", settings={"temperature": 0.2, "seed": 7})`.

    What is left out is the provider's own. `None` leaves a parameter out of the request, even where Loopwright would
    send one (roles ask with a temperature of 0.2). What a provider has no place for is left out, and
    `result.warnings` says so.
    """

    temperature: float | None
    """Sampling temperature, from 0 up."""
    top_p: float | None
    """Nucleus sampling, a share from 0 to 1."""
    max_tokens: int | None
    """Tokens of one answer, at least 1."""
    stop: Sequence[str] | None
    """Texts at which an answer ends."""
    effort: Literal["low", "medium", "high"] | None
    """How hard to think."""
    tool_choice: str | None
    """`"auto"`, `"none"`, `"any"`, or the name of a tool, for the first request."""
    parallel_tool_calls: bool | None
    """Whether one answer may hold several calls."""
    cache: bool | Literal["1h"] | None
    """Whether the provider may cache the prompt's prefix; by default it may, for its usual time. `"1h"`: for an hour,
    where it offers that (Anthropic, and newer Claude models on Bedrock); writing costs twice the input there."""
    seed: int | None
    """The seed of the model's sampling, for providers that have one."""
    extra_body: Mapping[str, Any] | None
    """Members of the request's body, merged deep over everything else. They go to this model alone."""
    extra_headers: Mapping[str, str] | None
    """Headers of each request. Their values count as secrets: no journal holds them."""


_OWN = frozenset({"messages", "model", "tools", "stream", "input", "contents"})
"""Members of a body that a run fills: what is said, to whom, with which tools."""
_PARAMETERS = {"effort": "reasoning_effort", "extra_body": None, "extra_headers": None, "cache": None}
"""Settings that go by another name among the parameters that can be left out, or that are none."""
RATES = ("concurrency", "requests_per_minute", "tokens_per_minute")
"""Limits of a host and key."""
_PLACES = ("escalate_to", "retry", "tool_format", "read_markup")
"""What only the first model of a run says: it holds for the run."""


def _frozen(given: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    return None if given is None else MappingProxyType(dict(given))


@only_options(
    **dict.fromkeys(("timeout", "request_timeout"), 'timeouts={"total": ...}'),
    **dict.fromkeys(("max_retries", "retries"), 'retry={"attempts": ...}'),
    **dict.fromkeys(("model_settings", "model_kwargs"), "settings={...}"),
    **dict.fromkeys(("fallbacks", "fallback_models"), "fallback=[...]"),
    **dict.fromkeys(("api_base", "endpoint", "url"), "base_url"),
    **dict.fromkeys(("max_concurrency", "max_concurrent_requests"), "concurrency"),
    rpm="requests_per_minute",
    tpm="tokens_per_minute",
)
@dataclass(frozen=True, repr=False, kw_only=True)
class Model:
    """A model by its name, where it lives and how it is asked. It stands wherever a model's name may stand.

    ::

        local = Model("openai-chat:qwen3", base_url="http://gpu:8000/v1", settings={"temperature": None, "seed": 7})
        agent = Agent(Model("anthropic:claude-sonnet-4-5", api_key=vault.read, fallback=[local]))

    What can't be is a `UsageError` that names the option, when the `Model` is made; only the key may come later. Its
    `settings` hold unless the agent's own `settings` say otherwise.

    In a fallback chain, as a role, as a judge or where a model is chosen, `retry`, `escalate_to`, `tool_format`,
    `read_markup` and `settings["tool_choice"]` are errors: they hold for a whole run, and the first model says them.
    """

    name: str | Responds | Streams = field(kw_only=False)
    """`provider:model`; or a model of one's own (`Responds`), which then is asked with these settings, tried again and
    paid for as is said here."""
    base_url: str | None = None
    """Another server than the provider's own."""
    api_key: str | Callable[[], str] | None = None
    """The key, or a function that gives it: a plain one, called before each request in the thread that steps the run,
    so keep it quick. If it raises, or gives no text, the request has failed (`auth`). Without either the environment
    has the key."""
    headers: Mapping[str, str] | None = None
    """Headers to add. Their values count as secrets."""
    settings: ModelSettings = field(default_factory=ModelSettings)
    """Parameters of its requests."""
    fallback: Sequence[str | Model | Responds] = ()
    """Models that are tried in this order where this one fails for good. What their settings leave open is asked for as
    it is of this one."""
    escalate_to: str | Model | None = None
    """The model that goes on, once, where too little succeeds."""
    timeouts: Mapping[str, float] | None = None
    """Seconds for `connect`, `first_byte`, `idle` and `total`."""
    retry: Mapping[str, Any] | None = None
    """`attempts`, `base` and `cap` (seconds), `longest_retry_after` (seconds), `after_output`."""
    concurrency: int | None = None
    """Requests that its host and key may have under way at once, by all runs of the process together."""
    requests_per_minute: int | None = None
    """Requests of a minute, likewise. One that is too many waits, and costs no attempt (`RequestHeld`)."""
    tokens_per_minute: int | None = None
    """Tokens of a minute, of prompts and answers, likewise. What a request will take is counted before it is sent, its
    answer as long as it may be, and corrected by what it took. One that is larger than the limit goes alone."""
    price: Mapping[str, float] | None = None
    """Money for a million tokens: `input`, `output`, `cache_read`, `cache_write`."""
    tool_format: str | None = None
    """How the model calls tools: `"native"`, `"text"`, or the name of a dialect."""
    read_markup: bool | None = None
    """Whether calls that it writes into its text run although it has tool calls of its own."""
    profile: Mapping[str, Any] | str | os.PathLike[str] | None = None
    """What its host takes, where that differs from the tables: a dict of fields (`limit`, `refuses`, `output`, …), or
    the path of a TOML file with `[takes]` and `[provider.NAME]`, which may define a provider. It is read here."""

    batch: bool | Mapping[str, float] = False
    """Whether requests go through the provider's interface for batches (OpenAI, Anthropic), for half the price, to be
    answered within a day: those of all runs of the process that come together are one batch. A dict sets the seconds
    for which they are gathered (`gather`, 1), and the first and the longest pause between two looks at the batch
    (`poll`, 10; `longest_poll`, 300)."""

    continued: bool | Literal["websocket"] = False
    """Whether the provider keeps its answers (`store`), so that each request of a run names the last one
    (`previous_response_id`) and holds only what is new. Only over the Responses API (`openai:`, `openai-responses:`).
    Where the provider has not kept it, or something older has changed, the whole history is sent. `"websocket"` goes
    over a WebSocket that is open as long as the run: the provider need store nothing. Where none opens, it is as with
    `True`."""

    def __post_init__(self) -> None:
        from . import _options
        from .models import is_own

        own = is_own(self.name)
        if not isinstance(self.name, str) and not own:
            message = f"a model's name is text, not {self.name!r:.100}"
            raise UsageError(message, "unknown_model", "write provider:model, or give an object with respond")
        if own:
            self._lives_nowhere()
        else:
            _options.whole("the model's name", self.name)
        _options.check(
            base_url=self.base_url,
            api_key=self.api_key,
            escalate_to=self.escalate_to,
            timeouts=self.timeouts,
            retry=self.retry,
            price=self.price,
            tool_format=self.tool_format,
            **rates_of(self),
        )
        if callable(self.api_key) and _is_async(self.api_key):
            message = "api_key can't be an async function"
            raise UsageError(message, "invalid_option", "give a plain function, which may read what a task has fetched")
        if not isinstance(self.batch, bool):
            _batch(self.batch)
        if not isinstance(self.continued, bool) and self.continued != "websocket":
            raise _wrong("continued", self.continued, "True, False or 'websocket'")
        if self.read_markup not in (None, True, False):
            raise _wrong("read_markup", self.read_markup, "True or False")
        if is_model(self.escalate_to):
            only_first(self.escalate_to, "which is chosen")
        headers = None if self.headers is None else dict(_options.names(self.headers))
        kept = {
            "fallback": _chain(self.fallback),
            "headers": _frozen(headers),
            "settings": _frozen(_checked(self.settings)),
            "profile": _frozen(self.profile) if isinstance(self.profile, Mapping) else self.profile,
            "batch": _frozen(_batch(self.batch)) if isinstance(self.batch, Mapping) else self.batch,
            "_profile": _profile(self.profile),
            **{name: _frozen(getattr(self, name)) for name in ("timeouts", "retry", "price")},
        }
        for name, value in kept.items():
            object.__setattr__(self, name, value)
        key = self.api_key
        # All that a request needs, but for a key that nobody has given yet.
        if not own:
            self._endpoint(key if isinstance(key, str) and key.strip() else lambda: "")

    def _lives_nowhere(self) -> None:
        """Of a model of one's own nobody says where it lives."""
        for name in ("base_url", "api_key", "headers", "profile", *RATES):
            if getattr(self, name) is not None:
                about = "counts requests to a provider" if name in RATES else "says where a model lives"
                message = f"{name} {about}, and {type(self.name).__name__} is an object here"
                hint = "hold a semaphore in its respond" if name in RATES else "give it to the name of a model"
                raise UsageError(message, "invalid_option", hint)
        for name in ("batch", "continued"):
            if getattr(self, name):
                message = f"{name} is about a provider, and {type(self.name).__name__} is an object here"
                raise UsageError(message, "invalid_option", "give it to the name of a model")

    def _endpoint(
        self, key: str | Callable[[], str] | None, limits: Mapping[str, float] | None = None
    ) -> _core.Endpoint:
        """The endpoint of the model with this key."""
        pairs = sent_headers(self, self.headers)
        seconds: dict[str, Any] = {**(limits or {}), **(self.timeouts or {})}
        return _core.Endpoint(
            cast("str", self.name),
            base_url=self.base_url,
            api_key=key,
            headers=pairs,
            profile=profile_of(self),
            batch=batch_of(self),
            continued=continued_of(self),
            **seconds,
            **rates_of(self),
        )

    def __repr__(self) -> str:
        """The name, and which options are set; no key, and no header."""
        shown = [repr(self.name)]
        if self.base_url is not None:
            # A query may hold a key.
            shown.append(f"base_url={self.base_url.partition('?')[0]!r}")
        hidden = [name for name in ("api_key", "headers") if getattr(self, name) is not None]
        shown.extend(f"{name}=***" for name in hidden)
        shown.extend(f"{name}={rate}" for name, rate in rates_of(self).items())
        if self.settings:
            open_ = {name: value for name, value in self.settings.items() if not name.startswith("extra_")}
            shown.append(f"settings={open_!r}")
            shown[-1] = shown[-1] if len(open_) == len(self.settings) else f"{shown[-1][:-1]}, …}}"
        if self.batch is not False:
            shown.append(f"batch={dict(self.batch) if isinstance(self.batch, Mapping) else self.batch}")
        if self.continued:
            shown.append(f"continued={self.continued!r}")
        if self.fallback:
            shown.append(f"fallback={list(self.fallback)!r}")
        return f"Model({', '.join(shown)})"

    def __hash__(self) -> int:
        return hash((self.name if isinstance(self.name, str) else id(self.name), self.base_url))

    def __reduce__(self) -> tuple[Any, ...]:
        plain = {name: _thawed(getattr(self, name)) for name in self.__dataclass_fields__ if name != "name"}
        return (_again, (self.name, plain))

    def __deepcopy__(self, _: Any) -> Model:
        return self


def _thawed(value: Any) -> Any:
    return dict(value) if isinstance(value, MappingProxyType) else value


def _again(name: Any, options: dict[str, Any]) -> Model:
    return Model(name, **options)


def _chain(given: object) -> tuple[Any, ...]:
    """The models that take over."""
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable) or is_model(given):
        raise _wrong("fallback", given, "a list of models")
    return tuple(given)


def is_model(one: object) -> TypeIs[Model]:
    """Whether something is a `Model`, and no object with `respond`."""
    return isinstance(one, Model)


def profile_of(model: Model | None) -> tuple[str | None, str] | None:
    """The file of a model's profile, if it is one, and its text; `None` where the tables hold."""
    found: tuple[str | None, str] | None = None if model is None else getattr(model, "_profile", None)
    return found


def _batch(given: object) -> Mapping[str, float]:
    """How requests are gathered into batches."""
    known = ("gather", "poll", "longest_poll")

    def may_be(name: object, seconds: object) -> bool:
        number = isinstance(seconds, (int, float)) and not isinstance(seconds, bool)
        return name in known and number and 0 <= seconds < float("inf")  # type: ignore[operator]

    if isinstance(given, Mapping) and all(may_be(*each) for each in given.items()):
        return given
    raise _wrong("batch", given, f"True, or a dict of seconds for {', '.join(known)}")


def batch_of(model: Model | None) -> dict[str, float] | None:
    """How the requests of a model go in batches; `None` where each goes by itself."""
    if model is None or model.batch is False:
        return None
    return {} if model.batch is True else dict(_batch(model.batch))


def continued_of(model: Model | None) -> str | None:
    """What the requests of a model go on from earlier answers over; `None` where each is whole."""
    if model is None or model.continued is False:
        return None
    return "http" if model.continued is True else model.continued


def rates_of(model: Model | None) -> dict[str, int]:
    """What of its host and key is limited, as an endpoint wants it."""
    found = {name: None if model is None else getattr(model, name) for name in RATES}
    return {name: rate for name, rate in found.items() if rate is not None}


def sent_headers(model: Model | None, headers: Mapping[str, str] | None) -> list[tuple[str, str]]:
    """The headers of each request to a model, those of its settings last."""
    extra = (model.settings.get("extra_headers") if model is not None else None) or {}
    return [*{**(headers or {}), **extra}.items()]


def once(option: str, ours: Any, theirs: Any, whose: str) -> Any:
    """What one of two places says; a `UsageError` where both do, and say different things."""
    if ours is not None and theirs is not None and ours != theirs:
        message = f"{option} is said by {whose} and by its Model, and they differ"
        raise UsageError(message, "invalid_option", f"say {option} in one of them")
    return theirs if ours is None else ours


def only_first(model: Model, who: str, *, alone: bool = True) -> None:
    """Raises a `UsageError` where a model that is not the first of a run says what holds for the run."""
    said = [name for name in _PLACES if getattr(model, name) is not None]
    said += ["settings['tool_choice']"] if model.settings.get("tool_choice") is not None else []
    said += ["fallback"] if alone and model.fallback else []
    if said:
        message = f"the model {model.name}, {who}, has {said[0]} of its own"
        raise UsageError(
            message, "invalid_option", "it holds for the whole run: give it to the first model, or leave it out"
        )


def machine_settings(settings: ModelSettings, but: Iterable[str] = ()) -> dict[str, Any]:
    """The settings as the machine reads them. `but` are those that somebody else says, whose values are left out."""
    said = {name: value for name, value in settings.items() if name not in {*but, "extra_headers", "tool_choice"}}
    found = {name: value for name, value in said.items() if value is not None}
    if "stop" in found:
        found["stop"] = list(cast("Sequence[str]", found["stop"]))
    omit = [_PARAMETERS.get(name, name) for name, value in said.items() if value is None]
    if named := [name for name in omit if name is not None]:
        found["omit"] = named
    return found


def _checked(settings: object) -> dict[str, Any]:
    """The settings, each looked at."""
    from . import _options

    if not isinstance(settings, Mapping):
        raise _wrong("settings", settings, "a dict, as {'temperature': 0.2}")
    known = list(ModelSettings.__annotations__)
    for name in settings:
        if name in known:
            continue
        from difflib import get_close_matches

        near = get_close_matches(str(name), known, 1)
        meant = f"did you mean {near[0]}? " if near else ""
        raise UsageError(f"settings have no {name!r}", "invalid_option", f"{meant}there are {', '.join(known)}")
    found = {name: value for name, value in settings.items() if value is not None}
    plain = ("temperature", "top_p", "max_tokens", "effort", "tool_choice", "cache")
    _options.check(**{name: value for name, value in found.items() if name in plain})
    if "stop" in found:
        found["stop"] = tuple(_options.texts("stop", found["stop"]))
    if not isinstance(found.get("parallel_tool_calls", True), bool):
        raise _wrong("parallel_tool_calls", found["parallel_tool_calls"], "True or False")
    seed = found.get("seed", 0)
    if not isinstance(seed, int) or isinstance(seed, bool) or not -(2**63) <= seed < 2**63:
        raise _wrong("seed", seed, "a whole number of 64 bits")
    if "extra_body" in found:
        found["extra_body"] = _body(found["extra_body"])
    if "extra_headers" in found:
        found["extra_headers"] = dict(_options.names(found["extra_headers"]))
    return {**settings, **found}


def _body(given: object) -> dict[str, Any]:
    """Members of a body, as JSON can hold them."""
    wanted = "a dict of names to what JSON can hold"
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise _wrong("extra_body", given, wanted)
    clash = sorted(_OWN & given.keys())
    if clash:
        message = f"extra_body can't hold {clash[0]!r}: the run fills it"
        raise UsageError(message, "invalid_option", "say the model, the tools and the messages where they belong")
    try:
        found: dict[str, Any] = json.loads(json.dumps(dict(given), allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        raise _wrong("extra_body", given, wanted) from None
    from . import _options

    _options.written(found)
    return found


def _profile(given: object) -> tuple[str | None, str] | None:
    """A profile as the engine reads it: the file, if it is one, and the text."""
    if given is None:
        return None
    if isinstance(given, Mapping):
        try:
            return None, json.dumps(dict(given), allow_nan=False)
        except (TypeError, ValueError, RecursionError):
            raise _wrong("profile", given, "a dict that JSON can hold, or the path of a TOML file") from None
    if not isinstance(given, (str, os.PathLike)):
        raise _wrong("profile", given, "a dict of fields, or the path of a TOML file")
    path = os.fsdecode(given)
    try:
        from pathlib import Path

        return path, Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        message = f"the profile {path!r} can't be read: {reason}"
        raise UsageError(message, "invalid_profile", "give a dict, or the path of a TOML file in UTF-8") from None


def _is_async(function: Callable[..., Any]) -> bool:
    from inspect import iscoroutinefunction

    return iscoroutinefunction(function) or iscoroutinefunction(type(function).__call__)


def _wrong(option: str, value: object, wanted: str) -> UsageError:
    return UsageError(f"{option} can't be {value!r:.100}", "invalid_option", f"give {wanted}")
