"""An agent of one request, for roles that are asked outside of any run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from . import _core
from ._dataclasses import replace
from ._model import Model
from ._options import written
from .agent import Agent
from .budget import Budget
from .monitor import Monitor

if TYPE_CHECKING:
    from .roles import Role

__all__ = ["OneShotAgent"]

_SECONDS = 30.0
_TOKENS = 1_000


class OneShotAgent(Agent[Any, str]):
    """A model that is asked once for JSON of a schema."""

    def __init__(self, model: Role, role: Role, system: str, schema: str | None) -> None:
        self._schema = schema
        seconds = role.timeout or _SECONDS
        said = model._said  # noqa: SLF001 - a part of the role
        if said is None and isinstance(model.model, str):
            said = Model(model.model)
        usual = {"temperature": 0.2, "max_tokens": _TOKENS, "effort": None}
        asked: dict[str, Any] = {}
        for name, value in usual.items():
            # What the model's settings leave out has no usual value.
            least = None if said is not None and name in said.settings else value
            asked[name] = next((each for one in (model, role) if (each := getattr(one, name)) is not None), least)
        run: dict[str, Any] = {"retry": {"attempts": 1}, "read_markup": False, "price": model.price}
        run["timeouts"] = {**((said.timeouts if said is not None else None) or {}), "total": seconds}
        settings = {**(said.settings if said is not None else {}), **_given(asked), "cache": False}
        super().__init__(
            Model(model.model, settings=settings, **run)  # type: ignore[arg-type]
            if said is None
            else replace(said, settings=settings, **run, **_place(model)),  # type: ignore[arg-type]
            instructions=system,
            monitor=Monitor(stuck=None, momentum=None),
            budget=Budget(rounds=1, tool_rounds=0, wall_time=seconds),
        )

    def _machine(self, turn: dict[str, Any]) -> _core.MachineConfig:
        if self._schema is not None:
            turn["output"] = {"name": "answer", "schema": json.loads(self._schema)}
        return _core.MachineConfig.turn(written(turn))


def _given(asked: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in asked.items() if value is not None}


def _place(model: Role) -> dict[str, Any]:
    """Where the model of a role lives, and nothing of those behind it."""
    names = ("base_url", "api_key", "headers")
    return {"name": model.model, "fallback": (), **{name: getattr(model, name) for name in names}}
