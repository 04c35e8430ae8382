"""An agent of one request, for roles that are asked outside of any run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from . import _core
from ._options import written
from .agent import Agent
from .budget import Budget

if TYPE_CHECKING:
    from .roles import Role

__all__ = ["OneShotAgent"]

_SECONDS = 30.0
_TOKENS = 1_000


class OneShotAgent(Agent[str]):
    """A model that is asked once for JSON of a schema."""

    def __init__(self, model: Role, role: Role, system: str, schema: str | None) -> None:
        self._schema = schema
        seconds = role.timeout or _SECONDS
        super().__init__(
            model.model,  # type: ignore[arg-type]
            system=system,
            base_url=model.base_url,
            api_key=model.api_key,
            headers=model.headers,
            price=model.price,
            temperature=next((each.temperature for each in (model, role) if each.temperature is not None), 0.2),
            max_tokens=model.max_tokens or role.max_tokens or _TOKENS,
            effort=model.effort or role.effort,
            timeouts={"total": seconds},
            retry={"attempts": 1},
            read_markup=False,
            cache=False,
            stuck=None,
            momentum=None,
            budget=Budget(rounds=1, tool_rounds=0, wall_time=seconds),
        )

    def _machine(self, turn: dict[str, Any]) -> _core.MachineConfig:
        if self._schema is not None:
            turn["output"] = {"name": "answer", "schema": json.loads(self._schema)}
        return _core.MachineConfig.turn(written(turn))
