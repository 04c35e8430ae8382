"""Drivers: they carry the commands of a run out and feed back what happened.

One generator says what happens when, for both. `AsyncDriver` lives in the caller's own task: tools run as tasks beside
it, cancellation and context variables behave as asyncio people expect. `SyncDriver` needs no event loop: it waits in
Rust with the interpreter free for others.
"""

from __future__ import annotations

import atexit

from loopwright import _core

from ._async import AsyncDriver
from ._generator import Driver
from ._sync import SyncDriver

atexit.register(_core.shutdown)

__all__ = ["AsyncDriver", "Driver", "SyncDriver"]
