"""`Guard`: what may run, who is asked, and the fence around what runs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from loopwright._dataclasses import dataclass, field
from loopwright._words import only_options
from loopwright.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from loopwright._approval import Approval
    from loopwright.roles import RoleLike

    from ._approvals import Approvals
    from ._commands import Commands
    from ._policy import Policy

__all__ = ["Approve", "Guard", "Sandbox"]

StrPath: TypeAlias = "str | os.PathLike[str]"
Approve: TypeAlias = "Callable[[Approval], Any] | Approvals | Literal['suspend']"
"""Who is asked before a call runs: a function, sync or async, that takes an `Approval` and gives `True`, `False`,
`"abort"`, an `Edit`, or a reason why not; or an `Approvals`, which remembers."""


class _Usual(float):
    """A limit that nobody gave: what an `Approvals` says may take its place."""

    __slots__ = ()


_USUAL_TIMEOUT = _Usual(60.0)
NO_TIMEOUT = 1e9
"""Seconds that the machine takes for no limit."""


@dataclass(frozen=True)
class Sandbox:
    """What commands may do beyond the fence that stands around them.

    Without any of it they write in the workspace and in a temporary folder of their own, read everything but what is
    private (`~/.ssh` and the like), and have no network; programs that are known get their caches, and the network
    where their line needs it and may run. `docs/guard.md` says more.
    """

    read: Sequence[StrPath] = ()
    """What they may read although it is private."""
    write: Sequence[StrPath] = ()
    """Folders and files outside of the workspace that they may write."""
    network: bool = False
    """Whether every command may use the network."""
    sockets: bool = False
    """Whether they may speak to other programs of this machine by their sockets: servers, agents for keys, Docker."""

    def __post_init__(self) -> None:
        for name in ("read", "write"):
            given = getattr(self, name)
            if isinstance(given, (str, bytes)) or not all(isinstance(each, (str, os.PathLike)) for each in given):
                message = f"Sandbox.{name} can't be {given!r:.100}"
                raise UsageError(message, "invalid_option", f'give a list of paths: {name}=["/srv/data"]')
            # A copy: whoever keeps the list changes no fence.
            paths = tuple(os.path.abspath(os.path.expanduser(os.fspath(each))) for each in given)  # noqa: PTH100, PTH111
            object.__setattr__(self, name, paths)
        for name in ("network", "sockets"):
            if not isinstance(getattr(self, name), bool):
                message = f"Sandbox.{name} can't be {getattr(self, name)!r:.100}"
                raise UsageError(message, "invalid_option", "give True or False")


@only_options(**dict.fromkeys(("approvals", "approver", "can_use_tool"), "approve"), approval_timeout="timeout")
@dataclass(frozen=True)
class Guard:
    """What may run, who is asked, and the fence around what runs.

    ::

        agent = Agent(model, tools=builtin_tools("src"), guard=Guard(sandbox=Sandbox(write=["/srv/data"])))
    """

    approve: Approve | None = None
    """Who is asked before a call at or above `confirm` runs: a function, or an `Approvals`. With `"suspend"` nobody is:
    the run is left in its journal, `result.pending` holds the calls, and `Agent.resume` goes on with the answers."""
    policy: Policy | StrPath | None = None
    """What may run: a `Policy`, or the path of its TOML file."""
    on_cautious: Literal["run", "intent", "ask"] | None = None
    """What calls at `cautious` need: nothing, a word of the user, or a person."""
    workspace: StrPath | None = None
    """What relative paths in calls start from."""
    timeout: float | None = _USUAL_TIMEOUT
    """Seconds that a person has to answer; silence is a no. `None` for any time. Without it an `Approvals` says."""
    sandbox: bool | Sandbox | None = field(default=None)
    """The fence around commands: by default that of the tools, which stands where the kernel has one. `False` takes it
    away, a `Sandbox` says what they may do beyond it."""
    commands: Commands | StrPath | None = None
    """What programs do that the guard does not know: a `Commands`, or the path of its TOML file."""
    supervisor: RoleLike | None = None
    """Who decides what of private results the model may see: `"rules"`, a model, or a `loopwright.roles.Supervisor`."""

    def __post_init__(self) -> None:
        checked(self.sandbox, "Guard.sandbox")
        from ._commands import commands_of

        # Read once: what holds is what was checked here.
        object.__setattr__(self, "commands", commands_of(self.commands, "Guard.commands"))


def checked(given: object, what: str) -> Any:
    """What an option `sandbox` says, if it says something."""
    if given is None or isinstance(given, (bool, Sandbox)):
        return given
    message = f"{what} can't be {given!r:.100}"
    raise UsageError(message, "invalid_option", "give True, False or a Sandbox")


def checked_guard(given: object) -> Guard:
    """The guard of an agent; without one the usual."""
    if given is None:
        return Guard()
    if not isinstance(given, Guard):
        message = f"guard can't be {given!r:.100}"
        raise UsageError(message, "invalid_option", "give a loopwright.guard.Guard")
    return given


def answering(given: Guard) -> Approvals | None:
    """The `Approvals` that answers, where it is no plain function."""
    if given.approve is None:
        return None
    from ._approvals import Approvals

    return given.approve if isinstance(given.approve, Approvals) else None


def deadline_of(given: Guard) -> float:
    """Seconds that whoever is asked has to answer, as the machine wants them."""
    if given.timeout is None:
        return NO_TIMEOUT
    if not isinstance(given.timeout, _Usual):
        return given.timeout
    approvals = answering(given)
    return float(given.timeout) if approvals is None else approvals.timeout


def in_words(seconds: float) -> float:
    """Seconds that are left for an answer, as people are told them: infinite where there is no limit."""
    return seconds if seconds < NO_TIMEOUT / 2 else float("inf")


def decided_sandbox(chosen: bool | Sandbox | None, policy: tuple[str, bool] | None) -> bool | Sandbox | None:  # noqa: FBT001
    """What holds of an agent's word and a policy's: the fence is away where one of them says so, unless the admin's
    policy has it stand.
    """
    tier, on = policy if policy is not None else ("", True)
    if on and tier == "admin":
        return chosen if isinstance(chosen, Sandbox) else True
    if not on:
        return False
    return chosen
