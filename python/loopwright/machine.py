"""The machine of a turn: the loop without I/O, for drivers of one's own: events go in, commands come out.

`build_info` says what the compiled part was built with. See `docs/turn-machine.md`.
"""

from __future__ import annotations

from ._core import Command, MachineConfig, TurnMachine, build_info
from ._core import Event as MachineEvent

__all__ = ["Command", "MachineConfig", "MachineEvent", "TurnMachine", "build_info"]
