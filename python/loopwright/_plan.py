"""What an agent's runs have in common: the machine's configuration, the model, the tools, the person who is asked."""

from __future__ import annotations

import contextlib
import errno
import json
import os
from functools import partial
from typing import TYPE_CHECKING, Any

from . import _core
from ._dataclasses import dataclass, field
from ._journal_paths import is_store, path_of
from ._urls import is_url
from .errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ._endpoints import Serving
    from ._lookups import Lookups
    from ._model import Model
    from ._remember import Remembering
    from ._suspend import Answers
    from .children import AgentPlan
    from .guard import Sandbox
    from .hooks import Hook
    from .models import Responds
    from .roles import Releases
    from .tools import Tool
    from .tools._offered import Offered
    from .tools._sets import Places

__all__ = [
    "ASIDES",
    "Plan",
    "about",
    "model_name",
    "named_run",
    "new_run",
    "of_chain",
    "place_of",
    "run_id",
    "unwritten",
    "writing",
    "written_run",
]

ASIDES = frozenset({"summarizer", "sanity", "supervisor"})
"""Purposes of questions to a role, which are not the run's own."""


@dataclass
class Plan:
    """What a driver needs to carry commands out."""

    config: _core.MachineConfig
    endpoint: _core.Endpoint | None
    model: Responds | None
    tools: Mapping[str, Tool[..., Any, Any]]
    approve: Callable[[Any], Any] | Answers | None
    folders: tuple[str, ...] = ()
    """Where searches look for sources."""
    durable: bool = False
    around: tuple[str | None, str | None] = (None, None)
    """The home folder and the workspace, for those who look at calls."""
    sandbox: bool | Sandbox | None = None
    """What the agent says of the fence around commands."""

    labels: Mapping[str, Any] = field(default_factory=dict)
    """What journals say about who started the run."""
    asked_model: str = ""
    """The model's name as requests hold it."""
    agents: Mapping[str, AgentPlan] = field(default_factory=dict)
    """What sub-agents need, by their kind: `explore`, `lead/explore`."""
    chains: Mapping[str, list[Serving]] = field(default_factory=dict)
    """Where the models of roles live; of the executor, those that take over."""
    session: Releases | None = None
    """What a supervisor has released before."""
    remember: Remembering | None = None
    """What memory is asked, and told."""
    lookups: Lookups | None = None
    """Who searches, fetches and embeds for a research."""
    gatherers: tuple[Any, ...] = ()
    """What else searches ask: memories, indexes and functions."""
    own_models: Mapping[str, Responds] = field(default_factory=dict)
    """Further models of one's own, by the names that requests hold."""
    hooks: Mapping[str, list[Hook]] = field(default_factory=dict)
    """Hooks by stage."""
    each_round: Places = field(default_factory=dict)
    """Who is asked for tools before each request."""
    chooser: Hook | None = None
    """Who is asked for the model before the first request."""
    chooses: bool = False
    """Whether requests may name another model."""
    endpoints: dict[str, _core.Endpoint] = field(default_factory=dict)
    """Other models, by the names that requests hold."""
    new_endpoint: Callable[[str], _core.Endpoint] | None = None
    """Makes the endpoint of another model."""
    named: Callable[[Model], str] | None = None
    """The name under which a `Model` that was chosen goes on."""
    price_and_settings: Callable[[str, _core.Endpoint | None], tuple[Any, dict[str, Any] | None]] | None = None
    """What a model costs that was chosen by its name, and its own settings."""
    recall: Callable[[Mapping[str, Any]], tuple[Plan, Offered]] | None = None
    """The plan for a run of a journal, whose toolsets are not asked; `None` where there are no toolsets."""
    contained: bool = False
    """Whether a model of one's own that raises has failed, as a provider fails, and ends no run."""

    def contains(self, model: str) -> bool:
        """Whether what the model of a request raises is a failure of that model alone."""
        return self.contained or model in self.own_models

    def model_of(self, model: str) -> Responds | None:
        """The model of one's own that a request names."""
        return self.own_models.get(model, self.model)

    def serving(self, command: _core.Command) -> Serving:
        """Where the request of a `generate` goes: an endpoint, or an object with `respond`; nothing of both if the
        plan lacks it.
        """
        if command.place or command.purpose in ASIDES:
            found = of_chain(self.chains, command)
            if found is not None:
                return found
        if self.endpoint is not None and not self.chooses:
            return self.endpoint, None
        name = command.request.model  # type: ignore[union-attr]
        endpoint = self.endpoint_of(name) if self.chooses else self.endpoint
        return endpoint, None if endpoint is not None else self.model_of(name)

    def endpoint_of(self, model: str) -> _core.Endpoint | None:
        """Where the model of a request lives; `None` is the model of one's own."""
        if model in self.own_models:
            return None
        if model == self.asked_model:
            return self.endpoint
        found = self.endpoints.get(model)
        if found is None:
            if ":" not in model and self.endpoint is not None:
                # Another model of the same provider.
                return self.endpoint
            if self.new_endpoint is None:
                message = f"there is no way to the model {model!r}"
                raise UsageError(message, "unknown_model", "write provider:model")
            found = self.endpoints[model] = self.new_endpoint(model)
        return found

    def chosen(self, model: str | Model) -> tuple[str, Any, dict[str, Any] | None]:
        """A model that was chosen: its name, what it costs, where a table knows it, and its own settings.

        Raises a `UsageError` where it can't be reached.
        """
        name = model if isinstance(model, str) else self.named(model)  # type: ignore[misc]
        endpoint = self.endpoint_of(name)
        return name, *self.price_and_settings(name, endpoint)  # type: ignore[misc]

    @property
    def defers(self) -> bool:
        """Whether there are tools whose work is done elsewhere."""
        every = [self.tools, *(agent.tools for agent in self.agents.values())]
        return any(tool.is_deferred for tools in every for tool in tools.values())

    @property
    def model_name(self) -> str:
        """How the model is shown."""
        return model_name(self.endpoint, self.model)


def of_chain(chains: Mapping[str, list[Serving]], command: _core.Command) -> Serving | None:
    """The model of a role's chain that a request names, nobody if the chain lacks it; `None` for whoever acts first."""
    purpose, place = command.purpose, command.place or 0
    if purpose not in ASIDES:
        if place == 0:
            return None
        place -= 1
    chain = chains.get(str(purpose), ())
    return chain[place] if place < len(chain) else (None, None)


def model_name(endpoint: _core.Endpoint | None, model: Responds | None) -> str:
    """How a model is shown; never holds a key."""
    if endpoint is None:
        return str(getattr(model, "name", None) or type(model).__name__)
    if endpoint.provider == "offline":
        return "offline-extractive (not an LLM)"
    return f"{endpoint.provider}:{endpoint.model}"


def run_id() -> str:
    """A name for a run that no other run has."""
    # `secrets` gives the same, and is slow to import.
    return os.urandom(8).hex()


def new_run(
    plan: Plan,
    name: str,
    journal: str | os.PathLike[str] | bool | None,  # noqa: FBT001 - a place, or `True` for memory
    attempt: int = 0,
) -> tuple[_core.Run, str | None]:
    """A run, and the path of its journal.

    `journal` is a file to make, a folder in which a file of the run's name is made, a store, `True` to keep the lines
    in memory, or nothing. Where a run needs further attempts, their files are numbered.
    """
    told = about(plan.labels)
    path = place_of(journal, name, attempt)
    released = plan.session._live() if plan.session is not None else None
    if path is None:
        return _core.Run(name, plan.config, keep=journal is True, about=told, released=released), None
    with writing(path, "be made", "give a folder that can be written to, or a new file"):
        make = partial(_core.Run, name, plan.config, about=told, released=released)
        return written_run(make, journal, path, name=name, told=told, model=plan.model_name), path


def named_run(plan: Plan, name: str, journal: Any, attempt: int) -> tuple[_core.Run, str | None]:
    """A run of a name that somebody chose. Raises `run_exists` where it is there, or comes to be there meanwhile."""
    not_there(journal, name)
    try:
        run, path = new_run(plan, name, journal, attempt)
        if is_store(journal) and not is_url(path):
            # Of two that begin at once the first one's name stands in the store; the other hears of it here.
            try:
                run.persist()
            except BaseException:
                run.close()
                raise
    except UsageError as error:
        if "UNIQUE" not in error.message and not isinstance(error.__cause__, FileExistsError):
            raise
        raise _exists(name, str(journal)) from error
    return run, path


def not_there(journal: Any, name: str) -> None:
    """Raises a `UsageError` where a run of this name, which somebody chose, is in the journal already."""
    if journal is None or isinstance(journal, bool) or not isinstance(journal, (str, os.PathLike)):
        return
    path = path_of(journal)
    if is_url(path):
        from ._postgres import journal_has, store_at

        there = name not in store_at(path).held and journal_has(path, name)
    elif is_store(journal):
        from .journal import Journal

        there = any(run.id == name for run in Journal(path).runs())
    else:
        there = not path.endswith(".jsonl") and os.path.exists(f"{path}{os.sep}{name}.jsonl")  # noqa: PTH110
    if there:
        raise _exists(name, path)


def _exists(name: str, path: str) -> UsageError:
    message = f"there is a run {name!r} in {path!r} already"
    return UsageError(message, "run_exists", "give another run_id, or go on with that one: on_existing='resume'")


def core_of(run: Any) -> _core.Run:
    """What the core knows of a run, whoever keeps its journal."""
    found: _core.Run = run if isinstance(run, _core.Run) else run.core
    return found


def written_run(
    make: Callable[..., Any], journal: Any, path: str | None, *, name: str, told: str | None, model: str
) -> Any:
    """What `make` makes, a run that writes where it is to; a fork with its open commands."""
    if is_url(path):
        from ._postgres import begun_run

        return begun_run(path or "", name, make, told, model)
    return make(**sink_of(journal, path))


def sink_of(journal: object, path: str | None) -> dict[str, Any]:
    """Where a run writes to, as `_core` names it."""
    if path is None:
        return {"keep": journal is True}
    return {"store": path} if is_store(journal) else {"journal": path}


def place_of(
    journal: str | os.PathLike[str] | bool | None,  # noqa: FBT001 - a place, or `True` for memory
    name: str,
    attempt: int = 0,
) -> str | None:
    """The path of a journal to make, in a folder that exists; `None` where none is written to a file."""
    if journal is None or isinstance(journal, bool):
        return None
    try:
        path = path_of(journal)
        if not isinstance(path, str):
            raise TypeError
    except TypeError:
        message = f"a journal can't be {type(journal).__name__}"
        raise UsageError(message, "invalid_value", "give a path, a Journal, or True to keep it in memory") from None
    if is_url(path):
        return path
    if is_store(journal):
        pass
    elif not path.endswith(".jsonl"):
        path = f"{path}{os.sep}{name}.jsonl"
    elif attempt:
        path = f"{path.removesuffix('.jsonl')}-{attempt + 1}.jsonl"
    # Without pathlib: this is done for each run.
    folder = os.path.dirname(path) or os.curdir  # noqa: PTH120
    if not os.path.isdir(folder):  # noqa: PTH112
        with writing(path, "be made", "give a folder that can be written to, or a new file"):
            os.makedirs(folder, exist_ok=True)  # noqa: PTH103
    return path


@contextlib.contextmanager
def writing(path: str | None, what: str, hint: str) -> Iterator[None]:
    """Failures of the disk become errors of the usage, with a hint."""
    try:
        yield
    except OSError as error:
        message = f"the journal {path!r} can't {what}: {error.strerror or error}"
        raise UsageError(message, unwritten(error), hint) from error
    except ValueError as error:
        # A path with a zero byte, or one that is no UTF-8.
        message = f"the journal {path!r} can't {what}: {error}"
        raise UsageError(message, "journal", "give a path of plain text") from error


def unwritten(error: OSError) -> str:
    """The code for what keeps a journal from being written: the same when it is made and later."""
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return "journal_read_only"
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return "journal_full"
    return "journal"


def about(labels: Mapping[str, Any]) -> str | None:
    """What the first line of a journal says about who started the run."""
    return json.dumps(labels) if labels else None
