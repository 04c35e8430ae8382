"""Cases of a file, run and logged by `inspect-ai`; whoever judges them judges them here, too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._inspect import solver
from ._outcome import Outcome, unexpected
from ._packages import need_inspect, need_pydantic_evals
from ._prompt import prompt_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from loopwright import Agent

    from ._cases import CaseFile

__all__ = ["run_with_inspect"]


def run_with_inspect(
    file: CaseFile,
    agent: Agent[Any, Any],
    module: ModuleType | None,
    options: dict[str, Any],
    at_once: int,
    log_dir: str,
) -> tuple[list[Outcome], str]:
    """Runs the cases, so many at once; gives what became of each, as the file has them, and the place of the log."""
    need_inspect("loopwright eval --with inspect")
    if file.judged:
        need_pydantic_evals("loopwright eval, for evaluators,")
    from inspect_ai import Task
    from inspect_ai import eval as evaluate
    from inspect_ai.dataset import Sample

    judge = _judging(file, agent, module)
    samples = [
        Sample(input=prompt_of(case["inputs"]), target=_text(case.get("expected_output")), id=case["name"])
        for case in file.cases
    ]
    task = Task(name=file.name, dataset=samples, solver=solver(agent, **options), scorer=_scorer(judge))
    (log,) = evaluate(
        task, model="none/none", display="none", log_dir=log_dir, fail_on_error=False, max_samples=at_once, score=True
    )
    found = {sample.id: sample for sample in log.samples or ()}
    return [_outcome(case, found.get(case["name"]), log) for case in file.cases], log.location


def _text(expected: Any) -> str:
    return "" if expected is None else str(prompt_of(expected))


def _judging(file: CaseFile, agent: Agent[Any, Any], module: ModuleType | None) -> Callable[[str, str], Any]:
    """What judges the answer to the case of a name: whether it passed, and why not."""
    from pydantic import TypeAdapter

    kind = agent._given["output_type"]
    adapter: TypeAdapter[Any] = TypeAdapter(kind)

    def read(text: str) -> Any:
        return text if kind is str else adapter.validate_json(text)

    if file.judged:
        from ._with_pydantic import dataset_of, verdict_of

        dataset = dataset_of(file, agent, module)
        cases = {case.name: case for case in dataset.cases}

        async def judged(name: str, text: str) -> tuple[bool, list[str]]:
            one = dataset.model_copy(update={"cases": [cases[name]]})

            async def answer(_: Any) -> Any:
                return read(text)

            report = await one.evaluate(answer, progress=False)
            if report.failures:
                return False, [report.failures[0].error_message]
            return verdict_of(report.cases[0])

        return judged
    expected = {case["name"]: case.get("expected_output") for case in file.cases}

    async def exact(name: str, text: str) -> tuple[bool, list[str]]:
        wanted = expected[name]
        if wanted is None or read(text) == (wanted if kind is str else adapter.validate_python(wanted)):
            return True, []
        return False, [unexpected(wanted, text)]

    return exact


def _scorer(judge: Callable[[str, str], Any]) -> Any:
    from inspect_ai.scorer import CORRECT, INCORRECT, Score, accuracy, scorer

    @scorer(metrics=[accuracy()])  # type: ignore[untyped-decorator]
    def cases() -> Any:
        async def score(state: Any, _: Any) -> Any:
            told = (state.output.metadata or {}).get("loopwright", {})
            if not state.output.completion:
                reasons = [told.get("message") or f"the run ended without an answer: {told.get('stop_reason')}"]
                return Score(value=INCORRECT, explanation=reasons[0], metadata={"reasons": reasons, "ended": True})
            passed, reasons = await judge(str(state.sample_id), state.output.completion)
            return Score(
                value=CORRECT if passed else INCORRECT,
                answer=state.output.completion,
                explanation="; ".join(reasons) or None,
                metadata={"reasons": reasons},
            )

        return score

    return cases()


def _outcome(case: dict[str, Any], sample: Any, log: Any) -> Outcome:
    outcome = Outcome(case["name"], passed=False, expected=case.get("expected_output"))
    if sample is None:
        outcome.error = log.error.message if log.error is not None else "the sample was not run"
        return outcome
    asked = [event for event in sample.events if event.event == "model"]
    outcome.output = sample.output.completion or None
    outcome.duration = sample.working_time
    outcome.metrics = {
        "requests": len(asked),
        "tool_calls": sum(event.event == "tool" for event in sample.events),
        "input_tokens": sum(_input(event.output.usage) for event in asked),
        "output_tokens": sum(event.output.usage.output_tokens for event in asked if event.output.usage),
    }
    told = dict((sample.output.metadata or {}).get("loopwright", {}))
    outcome.attributes = {name: value for name, value in told.items() if name in ("stop_reason", "run_id")}
    if told.get("cost") is not None:
        outcome.metrics["cost"] = told["cost"]
    score = next(iter((sample.scores or {}).values()), None)
    if sample.error is not None:
        outcome.error = sample.error.message
    elif sample.limit is not None:
        outcome.error = f"inspect's limit was reached: {sample.limit.type}"
    elif score is None:
        outcome.error = "it was not judged"
    else:
        said = score.metadata or {}
        outcome.passed = score.value == "C"
        if said.get("ended"):
            outcome.error = said["reasons"][0]
        else:
            outcome.reasons = said.get("reasons", [])
    return outcome


def _input(usage: Any) -> int:
    if usage is None:
        return 0
    return usage.input_tokens + (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)  # type: ignore[no-any-return]
