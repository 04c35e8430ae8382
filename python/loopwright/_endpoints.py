"""Endpoints for models of roles that name none: that of a model of the same provider.

So an agent behind a server of its own takes its roles there, with its key. One that says anything of a server, a key or
headers is taken at its word, and no key goes to another provider.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ._model import Model

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from .roles import Role

# ruff: noqa: SLF001 - these are parts of the roles of `loopwright.roles`

__all__ = ["ProviderEndpoint", "endpoint_of", "with_endpoint", "with_endpoints"]


@dataclass(frozen=True)
class ProviderEndpoint:
    """The address, key, headers and profile of a provider."""

    provider: str
    base_url: str | None = None
    api_key: str | Callable[[], str] | None = field(default=None, repr=False)
    headers: Mapping[str, str] | None = field(default=None, repr=False)
    profile: Mapping[str, Any] | str | os.PathLike[str] | None = None


def endpoint_of(role: Role) -> list[ProviderEndpoint]:
    """The endpoint of a role's own model; empty where it has none."""
    if not isinstance(role.model, str) or ":" not in role.model:
        return []
    profile = None if role._said is None else role._said.profile
    return [ProviderEndpoint(role.model.partition(":")[0], role.base_url, role.api_key, role.headers, profile)]


def with_endpoint(role: Role, homes: Sequence[ProviderEndpoint]) -> Role:
    """The role with the first of `homes` that is of its provider, if it names no endpoint itself."""
    if not isinstance(role.model, str) or (role.base_url, role.api_key, role.headers) != (None, None, None):
        return role
    provider = role.model.partition(":")[0]
    for home in homes:
        if home.provider == provider:
            said = role._said
            if home.profile is not None and (said is None or said.profile is None):
                said = Model(role.model, profile=home.profile) if said is None else replace(said, profile=home.profile)
            return replace(role, base_url=home.base_url, api_key=home.api_key, headers=home.headers, _said=said)
    return role


def with_endpoints(role: Role, homes: Sequence[ProviderEndpoint]) -> Role:
    """The role with its whole chain, each model with its own address."""
    role = role._flat()
    chain = [replace(each, fallback=()) for each in role._models(homes)]
    own = with_endpoint(role, homes)
    return replace(own, fallback=chain[1:] if chain and chain[0] == replace(own, fallback=()) else chain)
