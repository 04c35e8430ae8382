"""An agent as a task of `pydantic-evals`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loopwright._instrument import reaches_global
from loopwright._run_options import taken

from ._packages import need_pydantic_evals
from ._prompt import checked_agent, prompt_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from loopwright import Agent, Result

__all__ = ["task"]


def task(
    agent: Agent[Any, Any], *, prompt: Callable[[Any], Any] = prompt_of, deps: Any = None, **options: Any
) -> Callable[[Any], Awaitable[Any]]:
    """The agent as a task: an async function of the inputs of a case that gives the output of a run.

    ::

        report = dataset.evaluate_sync(evals.task(agent))

    Tokens, requests, calls of tools and cost are metrics of the case; the reason to stop, the model, the run's id and
    its journal are attributes.

    Args:
        agent: An `Agent`. It stays as it is.
        prompt: What makes a prompt of the inputs. Without it text, messages and blocks are the prompt as they are, and
            anything else is its JSON.
        deps: What tools and instructions get as `context.deps`, in every case.
        options: Options of each run, as `agent.run` takes them: `model`, `budget`, `journal`, `approve`, …

    Raises a `UsageError`: `missing_extra`, `wrong_version`, `invalid_agent`, `unknown_option`.
    """
    need_pydantic_evals()
    checked_agent(agent)
    taken("evals.task", options)

    async def run(inputs: Any) -> Any:
        result = await agent.run(prompt(inputs), deps=deps, **options)
        _tell(result, counted=reaches_global(agent))
        return result.output

    run.__name__ = run.__qualname__ = agent.name or "agent"
    return run


def _tell(result: Result[Any], *, counted: bool) -> None:
    """Tells the evaluation around it, if there is one, about a run; what it counts from spans is not counted again."""
    from pydantic_evals import increment_eval_metric, set_eval_attribute

    metrics: dict[str, float] = {"tool_calls": len(result.tool_calls)}
    if not counted:
        metrics |= {
            "requests": result.rounds,
            "input_tokens": result.usage.input_tokens,
            "output_tokens": result.usage.output_tokens,
        }
    if result.cost is not None:
        metrics["cost"] = result.cost
    for name, amount in metrics.items():
        increment_eval_metric(name, amount)
    attributes = {
        "stop_reason": result.stop_reason,
        "model": result.model,
        "run_id": result.run_id,
        "journal": None if result.journal is None or "\n" in result.journal else result.journal,
    }
    for name, value in attributes.items():
        if value is not None:
            set_eval_attribute(name, value)
