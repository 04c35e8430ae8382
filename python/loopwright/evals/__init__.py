"""Evaluations: agents as tasks of `pydantic-evals` and `inspect-ai`, and recorded runs as cases.

    from loopwright import evals

    report = dataset.evaluate_sync(evals.task(agent))                # pydantic-evals
    task = Task(dataset=samples, solver=evals.solver(agent))         # inspect-ai

Each package is an extra of its own: `pip install 'loopwright[evals]'` and `'loopwright[inspect]'`. Importing this
imports neither.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._inspect import solver
    from ._play import Change, Played, play, play_sync
    from ._recorded import Recorded, dataset, recorded
    from ._task import task

_HOMES = {
    "Change": "_play",
    "Played": "_play",
    "Recorded": "_recorded",
    "dataset": "_recorded",
    "play": "_play",
    "play_sync": "_play",
    "recorded": "_recorded",
    "solver": "_inspect",
    "task": "_task",
}

__all__ = ["Change", "Played", "Recorded", "dataset", "play", "play_sync", "recorded", "solver", "task"]


if not TYPE_CHECKING:
    # Seen by a type checker, it would make each misspelt name an `Any`.

    def __getattr__(name: str) -> Any:
        home = _HOMES.get(name)
        if home is None:
            message = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(message)
        from importlib import import_module

        value = getattr(import_module(f".{home}", __name__), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
