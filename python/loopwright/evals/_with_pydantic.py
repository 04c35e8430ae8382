"""Cases of a file, run and judged by `pydantic-evals`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from loopwright.errors import UsageError

from ._outcome import Outcome, unexpected
from ._packages import need_pydantic_evals
from ._task import task

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from loopwright import Agent

    from ._cases import CaseFile

__all__ = ["dataset_of", "run_with_pydantic", "verdict_of"]

_EXACT = "EqualsExpected"


def run_with_pydantic(
    file: CaseFile, agent: Agent[Any, Any], module: ModuleType | None, options: dict[str, Any], at_once: int
) -> list[Outcome]:
    """Runs the cases, so many at once; gives what became of each, in the order of the file."""
    need_pydantic_evals("loopwright eval")
    dataset = dataset_of(file, agent, module)
    report = asyncio.run(dataset.evaluate(task(agent, **options), progress=False, max_concurrency=at_once))
    found = {case.name: _outcome(case) for case in report.cases}
    for failure in report.failures:
        found[failure.name] = Outcome(
            failure.name, passed=False, expected=failure.expected_output, error=failure.error_message
        )
    return [found[case["name"]] for case in file.cases]


def dataset_of(file: CaseFile, agent: Agent[Any, Any], module: ModuleType | None) -> Any:
    """The file as a `Dataset`: answers are of the agent's type, evaluators those of the package and of the module.

    A case that no evaluator is named for must give what is expected, letter by letter.
    """
    from pydantic import ValidationError
    from pydantic_evals import Dataset
    from pydantic_evals.evaluators import EqualsExpected, Evaluator

    own = [
        each
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, Evaluator) and each.__module__ == getattr(module, "__name__", "")
    ]
    typed = Dataset[Any, agent._given["output_type"], Any]

    def made(cases: list[dict[str, Any]], evaluators: list[Any]) -> Any:
        whole = {"name": file.name, "cases": cases, "evaluators": evaluators}
        return typed.from_dict(whole, custom_evaluator_types=own)

    try:
        dataset = made(file.cases, file.evaluators)
    except ValidationError as error:
        raise _misfit(file, error) from error
    except Exception as error:
        first = next(iter(getattr(error, "exceptions", ())), error)
        at = next((at for at, case in enumerate(file.cases) if _raises(made, [case], [])), None)
        place = f"{file.path}: `evaluators`" if at is None else f"{file.place(at)}: `evaluators`"
        hint = "name one of pydantic_evals.evaluators, or write it in the agent's file"
        raise UsageError(f"{place}: {first!s:.400}", "invalid_cases", hint) from error
    for case in dataset.cases:
        if not case.evaluators and not dataset.evaluators:
            case.evaluators.append(EqualsExpected())
    return dataset


def _raises(function: Callable[..., Any], *given: Any) -> bool:
    try:
        function(*given)
    except Exception:  # noqa: BLE001 - whatever it is
        return True
    return False


def _misfit(file: CaseFile, error: Any) -> UsageError:
    """The first fault that pydantic found, with its place."""
    fault = error.errors()[0]
    path = [str(part) for part in fault["loc"]]
    place = file.path
    if path[:1] == ["cases"] and len(path) > 1:
        place, path = file.place(int(path[1])), path[2:]
    member = f": `{'.'.join(path)}`" if path else ""
    return UsageError(f"{place}{member}: {fault['msg']}", "invalid_cases", "write it as the agent answers")


def verdict_of(case: Any) -> tuple[bool, list[str]]:
    """Whether nothing that judged a case of a report says no, and what did."""
    reasons = [
        unexpected(case.expected_output, case.output)
        if name == _EXACT
        else f"{name}{_arguments(result.source)}: {result.reason or 'no'}"
        for name, result in case.assertions.items()
        if not result.value
    ]
    reasons += [f"{failure.name} failed: {failure.error_message}" for failure in case.evaluator_failures]
    return not reasons, reasons


def _arguments(spec: Any) -> str:
    """What an evaluator was made with, where its name does not say all."""
    given = spec.arguments
    if not given:
        return ""
    told = (f"{name}={value!r}" for name, value in given.items()) if isinstance(given, dict) else map(repr, given)
    return f"({', '.join(told)})"


def _outcome(case: Any) -> Outcome:
    passed, reasons = verdict_of(case)
    told = {**case.scores, **case.labels}
    return Outcome(
        case.name,
        passed,
        case.output,
        case.expected_output,
        reasons,
        metrics=dict(case.metrics),
        attributes={**case.attributes, **{name: result.value for name, result in told.items()}},
        duration=case.task_duration,
    )
