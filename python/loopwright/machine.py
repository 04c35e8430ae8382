"""The machine of a turn: the loop without I/O, for drivers of one's own: events go in, commands come out.

`build_info` says what the compiled part was built with. See `docs/turn-machine.md`.
"""

from __future__ import annotations

import copyreg
import json
from typing import Any

from ._core import Call, Command, MachineConfig, TurnMachine, build_info
from ._core import Event as MachineEvent
from .errors import UsageError

__all__ = ["Call", "Command", "MachineConfig", "MachineEvent", "TurnMachine", "build_info", "config_from_json"]


def config_from_json(text: str) -> MachineConfig:
    """The configuration of a machine, from what `MachineConfig.to_json` gave.

    >>> from loopwright import Agent
    >>> config = Agent("offline:extractive").machine()
    >>> config_from_json(config.to_json()).to_json() == config.to_json()
    True
    """
    try:
        ((kind, config),) = json.loads(text).items()
        made: MachineConfig = {
            "turn": MachineConfig.turn,
            "grounded": MachineConfig.grounded,
            "research": MachineConfig.research,
        }[kind](json.dumps(config))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        message = f"a machine can't be configured by {text!r:.100}"
        raise UsageError(message, "invalid_config", "give what MachineConfig.to_json gave") from error
    return made


def apart_from_host(text: str) -> str:
    """The configuration of a machine, as JSON, without the folders of the host that made it.

    The guard takes each home folder for the home then, and each path that is not relative for one outside of the
    workspace.
    """
    config = json.loads(text)
    turns: list[Any] = [turn_of(config)]
    while turns:
        turn = turns.pop()
        around = turn.get("guard", {}).get("around", {})
        around.update(dict.fromkeys(("home", "workspace")))
        turns.extend(agent["turn"] for agent in turn.get("children", {}).get("agents", ()))
    return json.dumps(config)


def turn_of(config: dict[str, Any]) -> dict[str, Any]:
    """The configuration of the turns within that of a machine."""
    turn: dict[str, Any] = config.get("turn") or next(iter(config.values()))["turn"]
    return turn


# Types of the compiled part: each travels as the text that it is made of again.
copyreg.pickle(MachineConfig, lambda config: (config_from_json, (config.to_json(),)))
copyreg.pickle(MachineEvent, lambda event: (MachineEvent.from_json, (event.to_json(),)))
copyreg.pickle(TurnMachine, lambda machine: (TurnMachine.load, (machine.save(),)))
