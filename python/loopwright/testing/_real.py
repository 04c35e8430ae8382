"""No request of a test goes to a real model."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from loopwright._real_requests import Forbidden

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["no_real_requests"]


@contextlib.contextmanager
def no_real_requests() -> Iterator[None]:
    """Refuses requests that would leave this machine: to models, for vectors, to search engines and for pages.

    ::

        with no_real_requests(), agent.override(model=ScriptedModel(["Hello."])):
            assert agent.run_sync("Say hello.").output == "Hello."

    What is refused is a `UsageError` with the code `real_request` that names the host; where code within swallows it,
    it is raised at the end of the block. It holds for all threads of the process. `127.0.0.0/8`, `::1` and `localhost`
    are this machine: a `WireServer` is asked as ever. `LOOPWRIGHT_NO_REQUESTS=1` in the environment forbids the same
    everywhere.

    Not held up are requests that other code makes: tools, models of one's own, servers of tools (`loopwright.mcp`);
    nor where a server of this machine leads on to another.
    """
    block = Forbidden()
    block.begin()
    try:
        yield
    finally:
        block.end()
    if block.refused:
        raise block.refused[0]
