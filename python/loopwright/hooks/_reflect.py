"""The stages after the answer: `pre_reflect` and `post_reflect`, around whatever is done then.

They run in the background, in a thread with an event loop of its own; nobody waits for them but the end of the process,
and that no longer than a few seconds. What fails there is logged under `loopwright.hooks`.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
from typing import TYPE_CHECKING, Any

from loopwright._threads import in_worker
from loopwright._user_code import RAISED
from loopwright.errors import UsageError

from ._context import AnswerSubject
from ._run import run_stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from loopwright.result import Result

    from ._hook import Hook

__all__ = ["drain", "reflect", "reflect_soon"]

_MOST = 256
"""Runs whose work after the answer may wait."""
_AT_EXIT = 5.0

_log = logging.getLogger("loopwright.hooks")
_changed = threading.Condition()
_pending = 0


def reflect(hooks: Iterable[Hook], result: Result[Any], deps: Any, work: Callable[[], Any] | None = None) -> Any:
    """Runs the stages around `work`, here and now; gives what that gave. A veto is an error of code `hook_veto`."""
    found = list(hooks)
    text = result.final if result.final is not None else result.best_draft
    subject = AnswerSubject(text or "", result.stop_reason)

    def ask(stage: str) -> None:
        for reply in run_stage(found, stage, subject, run_id=result.run_id, deps=deps):
            if reply.answer == "failed":
                from loopwright.guard import redact

                told = redact(reply.text)
                _log.warning("the hook %r at %s of run %s failed: %s", reply.name, stage, result.run_id, told)
            if stage == "pre_reflect" and (reply.answer == "veto" or reply.stop):
                message = f"the hook {reply.name!r} left it out: {reply.text}"
                raise UsageError(
                    message, "hook_veto", "nothing is kept of this turn; let the hook continue if it shall be"
                )

    ask("pre_reflect")
    kept = work() if work is not None else None
    ask("post_reflect")
    return kept


def reflect_soon(hooks: Iterable[Hook], result: Result[Any], deps: Any, work: Callable[[], Any] | None = None) -> bool:
    """The same in the background; false if too much waits there already."""
    global _pending  # noqa: PLW0603
    with _changed:
        if _pending >= _MOST:
            _log.warning("the hooks after run %s are left out: %d runs wait for theirs", result.run_id, _pending)
            return False
        _pending += 1
    found = list(hooks)

    def run() -> None:
        try:
            reflect(found, result, deps, work)
        except UsageError as error:
            if error.code != "hook_veto":
                _log.exception("the work after run %s failed", result.run_id)
        except RAISED:
            _log.exception("the work after run %s failed", result.run_id)

    def done(_: object) -> None:
        global _pending  # noqa: PLW0603
        with _changed:
            _pending -= 1
            _changed.notify_all()

    in_worker(run, done)
    return True


def drain(seconds: float = _AT_EXIT) -> bool:
    """Waits for the hooks after answers that are under way; whether all of them have ended."""
    end = time.monotonic() + seconds
    with _changed:
        while _pending:
            left = end - time.monotonic()
            if left <= 0:
                return False
            _changed.wait(left)
    return True


def _forked() -> None:
    global _changed, _pending
    _changed, _pending = threading.Condition(), 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
atexit.register(drain)
