"""Endpoints for models of roles that name none: that of a model of the same provider.

So an agent behind a server of its own takes its roles there, with its key. One that says anything of a server, a key or
headers is taken at its word, and no key goes to another provider.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

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
    "ProviderEndpoint",
    "Serving",
    "endpoint_of",
    "flat",
    "served_by",
    "with_endpoint",
    "with_endpoints",
]


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


def served_by(role: Role, timeouts: Mapping[str, float]) -> tuple[Serving, dict[str, Any]]:
    """Where the model of a role lives, and what the machine knows of it."""
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
        endpoint = _core.Endpoint(
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
        return (endpoint, None), {"model": endpoint.model, "wire": endpoint.wire, **known}
    from .models import is_own

    if is_own(model):
        return (None, model), {"model": str(getattr(model, "name", None) or type(model).__name__), **known}
    message = (
        f"a model is a name such as 'anthropic:MODEL' or has a respond or stream method; {model!r:.100} is neither"
    )
    raise UsageError(message, "unknown_model", "write provider:model")
