"""Endpoints for models of roles that name none: that of a model of the same provider.

So an agent behind a server of its own takes its roles there, with its key. One that says anything of a server, a key or
headers is taken at its word, and no key goes to another provider.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from . import _core
from ._dataclasses import dataclass, field, replace
from ._model import (
    Model,
    batch_of,
    continued_of,
    machine_settings,
    once,
    only_first,
    profile_of,
    rates_of,
    sent_headers,
)
from .errors import UsageError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from .roles import Role

# ruff: noqa: SLF001 - these are parts of the roles of `loopwright.roles`

__all__ = [
    "ASKED",
    "NOT_SET",
    "ProviderEndpoint",
    "Serving",
    "Unreached",
    "chain_of",
    "endpoint_of",
    "flat",
    "reached",
    "unreached_error",
    "with_endpoint",
    "with_endpoints",
]


NOT_SET = ("missing_key", "missing_endpoint", "missing_setting")
"""What may be set after an agent was made: in the environment of the process that runs it."""
_STAND_IN = "https://unset.invalid/v1/projects/unset/locations/unset"


class Unreached(NamedTuple):
    """A model that can't be reached yet."""

    what: str
    """Whose it is, in words."""
    make: Callable[[], _core.Endpoint]
    put: Callable[[_core.Endpoint], object]
    """Where its endpoint goes."""


def reached(model: str, **asked: Any) -> tuple[_core.Endpoint, Callable[[], _core.Endpoint] | None]:
    """The endpoint of a model. Where its key, address or region is not set yet, one that stands in for it, so that what
    else is wrong is said now; and who makes the right one later.
    """

    def make(**changes: Any) -> _core.Endpoint:
        return _core.Endpoint(model, **{**asked, **changes})

    stand_in: dict[str, Any] = {}
    while True:
        try:
            return make(**stand_in), make if stand_in else None
        except UsageError as error:
            added = {"api_key": lambda: ""} if error.code == "missing_key" else {"base_url": _STAND_IN}
            if error.code not in NOT_SET or added.keys() <= stand_in.keys():
                raise
            stand_in |= added


def unreached_error(found: Sequence[tuple[str, UsageError]]) -> UsageError:
    """One error for all models that can't be reached, each with whose it is."""
    messages = [f"{what}: {error.message}" if what else error.message for what, error in found]
    hints = dict.fromkeys(error.hint for _, error in found if error.hint)
    return UsageError("; ".join(messages), found[0][1].code, "; ".join(hints))


@dataclass(frozen=True)
class ProviderEndpoint:
    """The address, key, headers and profile of a provider."""

    provider: str
    base_url: str | None = None
    api_key: str | Callable[[], str] | None = field(default=None, repr=False)
    headers: Mapping[str, str] | None = field(default=None, repr=False)
    profile: Mapping[str, Any] | str | os.PathLike[str] | None = None
    rates: Mapping[str, int] = field(default_factory=dict)


def endpoint_of(role: Role) -> list[ProviderEndpoint]:
    """The endpoint of a role's own model; empty where it has none."""
    if not isinstance(role.model, str) or ":" not in role.model:
        return []
    profile = None if role._said is None else role._said.profile
    provider = role.model.partition(":")[0]
    return [ProviderEndpoint(provider, role.base_url, role.api_key, role.headers, profile, rates_of(role._said))]


def with_endpoint(role: Role, homes: Sequence[ProviderEndpoint]) -> Role:
    """The role with the first of `homes` that is of its provider, if it names no endpoint itself."""
    if not isinstance(role.model, str) or (role.base_url, role.api_key, role.headers) != (None, None, None):
        return role
    provider = role.model.partition(":")[0]
    for home in homes:
        if home.provider == provider:
            said = role._said
            added: dict[str, Any] = {} if rates_of(said) else dict(home.rates)
            if home.profile is not None and (said is None or said.profile is None):
                added["profile"] = home.profile
            if added:
                said = Model(role.model, **added) if said is None else replace(said, **added)
            return replace(role, base_url=home.base_url, api_key=home.api_key, headers=home.headers, _said=said)
    return role


def with_endpoints(role: Role, homes: Sequence[ProviderEndpoint]) -> Role:
    """The role with its whole chain, each model with its own address."""
    role = role._flat()
    chain = [replace(each, fallback=()) for each in role._models(homes)]
    own = with_endpoint(role, homes)
    return replace(own, fallback=chain[1:] if chain and chain[0] == replace(own, fallback=()) else chain)


ASKED = ("temperature", "max_tokens", "effort")
"""How a model is asked."""


def flat(role: Role, *, acting: bool) -> Role:
    """A role whose model is a `Model`, as one whose model is a name. One that acts may say what holds for a run."""
    said = cast("Model", role.model)
    if not acting:
        only_first(said, "which is not the first of a run", alone=False)
    if role.fallback and said.fallback:
        message = f"the role and its model {said.name} both have a fallback chain"
        raise UsageError(message, "invalid_option", "give the chain in one of them")
    found: dict[str, Any] = {
        name: once(name, getattr(role, name), getattr(said, name), "the Role")
        for name in ("base_url", "api_key", "headers", "price")
    }
    for name in ASKED:
        own = getattr(role, name)
        found[name] = said.settings.get(name) if own is None else own
    chain: Any = role.fallback or said.fallback
    model: Any = said.name
    return replace(role, model=model, fallback=chain, _said=said, **found)


Serving = tuple[_core.Endpoint | None, Any]
"""Where a model lives: an endpoint, or an object with `respond`."""


def chain_of(
    what: str, models: Sequence[Role], timeouts: Mapping[str, float], unreached: list[Unreached]
) -> tuple[list[Serving], list[dict[str, Any]]]:
    """Where the models of a chain live, and what the machine knows of them. Those that can't be reached yet are added
    to `unreached`.
    """
    chain: list[Serving] = []
    configs: list[dict[str, Any]] = []
    for role in models:
        serving, known, later = _served_by(role, timeouts)
        if later is not None:
            unreached.append(Unreached(f"{what} {role.model}", later, partial(_put, chain, len(chain))))
        chain.append(serving)
        configs.append(known)
    return chain, configs


def _put(chain: list[Serving], place: int, endpoint: _core.Endpoint) -> None:
    chain[place] = endpoint, None


def _served_by(
    role: Role, timeouts: Mapping[str, float]
) -> tuple[Serving, dict[str, Any], Callable[[], _core.Endpoint] | None]:
    """Where the model of a role lives, what the machine knows of it, and who makes its endpoint later."""
    from . import _options
    from ._setup import _price

    asked = {name: value for name in ASKED if (value := getattr(role, name)) is not None}
    key = role.api_key if isinstance(role.api_key, str) else None
    _options.check(base_url=role.base_url, api_key=key, price=role.price, **asked)
    model, said = role.model, role._said
    known: dict[str, Any] = {"price": dict(role.price), **asked} if role.price else {**asked}
    if isinstance(model, str):
        pairs = sent_headers(said, dict(_options.names(role.headers if role.headers is not None else {})))
        limits: dict[str, Any] = {**timeouts, **((said.timeouts if said is not None else None) or {})}
        endpoint, later = reached(
            model,
            base_url=role.base_url,
            api_key=role.api_key,
            headers=pairs,
            profile=profile_of(said),
            batch=batch_of(said),
            continued=continued_of(said),
            **limits,
            **rates_of(said),
        )
        if not role.price and (price := _price(endpoint)) is not None:
            known["price"] = price
        if said is not None and (settings := machine_settings(said.settings, asked)):
            known["settings"] = settings
        return (endpoint, None), {"model": endpoint.model, "wire": endpoint.wire, **known}, later
    from .models import is_own

    if is_own(model):
        return (None, model), {"model": str(getattr(model, "name", None) or type(model).__name__), **known}, None
    message = (
        f"a model is a name such as 'anthropic:MODEL' or has a respond or stream method; {model!r:.100} is neither"
    )
    raise UsageError(message, "unknown_model", "write provider:model")
