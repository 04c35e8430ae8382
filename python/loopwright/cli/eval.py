"""`loopwright eval`: runs a file of cases, or recorded runs, and says which passed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loopwright._journal_paths import holds_store, is_store
from loopwright.errors import UsageError
from loopwright.guard import redact_json

from .agent_file import load_agent, load_module
from .exit_codes import ERROR, OK
from .screen import Screen, Style
from .task_agent import located
from .text import clean, fit, one_line, plural, seconds, width, wrap

if TYPE_CHECKING:
    import argparse

    from loopwright.evals._outcome import Outcome

__all__ = ["evaluate"]

_AT_ONCE = 4
_WIDEST = 40
_LONGEST = 600
_STYLES = {"failed": Style.YELLOW, "error": Style.RED}


def evaluate(arguments: argparse.Namespace) -> int:
    """Runs the cases; gives the exit code: 0 if all passed, 1 otherwise."""
    screen = Screen(bare=arguments.json)
    log = None
    if _is_journal(arguments.file):
        ran_by = "the agent" if arguments.live else "playing" if arguments.agent is not None else "replaying"
        outcomes = _recorded(arguments)
    else:
        ran_by = arguments.runner
        outcomes, log = _cases(arguments)
    passed = sum(outcome.passed for outcome in outcomes)
    code = OK if passed == len(outcomes) else ERROR
    if arguments.json:
        told = {
            "file": arguments.file,
            "with": ran_by,
            "log": log,
            "passed": passed,
            "total": len(outcomes),
            "exit_code": code,
            "cases": [_told(outcome) for outcome in outcomes],
        }
        screen.answer(redact_json(json.dumps(told, default=str)))
        return code
    _show(outcomes, screen)
    screen.answer("")
    screen.answer(f"{passed} of {plural(len(outcomes), 'case')} passed", style=Style.BOLD)
    if log is not None:
        screen.note(f"log: {one_line(log)}", style=Style.DIM)
    return code


def _is_journal(path: str) -> bool:
    """Whether a file holds recorded runs: a store, a folder, or lines that begin as a journal does."""
    if Path(path).is_dir() or is_store(path) or holds_store(path):
        return True
    if not path.endswith(".jsonl"):
        return False
    try:
        with Path(path).open(encoding="utf-8", errors="replace") as file:
            return file.readline().startswith('{"loopwright":')
    except OSError:
        return False


def _options(arguments: argparse.Namespace) -> dict[str, Any]:
    if arguments.model is None and arguments.base_url is not None:
        message = "--base-url says where a model lives, and none is named"
        raise UsageError(message, "no_model", "give --model PROVIDER:NAME, too")
    return {} if arguments.model is None else {"model": located(arguments.model, arguments.base_url)}


def _check(agent: Any, options: dict[str, Any]) -> None:
    """Says once what each run would say, such as that a key is missing."""
    (agent.clone(**options) if options else agent).check()


def _recorded(arguments: argparse.Namespace) -> list[Outcome]:
    from loopwright.evals import recorded
    from loopwright.evals._with_journals import run_recorded

    if arguments.live and arguments.agent is None:
        raise UsageError("--live needs an agent", "no_agent", "give FILE:NAME behind the journal")
    agent, options = None if arguments.agent is None else load_agent(arguments.agent), _options(arguments)
    if arguments.live:
        _check(agent, options)
    cases = recorded(arguments.file)
    if arguments.cases:
        cases = [case for case in cases if any(case.run.startswith(name) for name in arguments.cases)]
    if not cases:
        which = " of that name" if arguments.cases else ""
        message = f"{arguments.file!r} holds no run{which} that has ended"
        raise UsageError(message, "no_cases", f"loopwright runs --journal {arguments.file}")
    return run_recorded(cases, agent, options, arguments.at_once or _AT_ONCE, live=arguments.live)


def _cases(arguments: argparse.Namespace) -> tuple[list[Outcome], str | None]:
    from loopwright.evals._cases import read_cases
    from loopwright.evals._packages import need_inspect, need_pydantic_evals

    if arguments.live:
        raise UsageError("--live is for recorded runs", "invalid_option", "leave it out: cases of a file are run live")
    file = read_cases(arguments.file).only(arguments.cases)
    if arguments.agent is None:
        message = f"{arguments.file!r} holds cases, and no agent is named that does them"
        raise UsageError(message, "no_agent", f"loopwright eval {arguments.file} FILE:NAME, such as shop.py:agent")
    agent = load_agent(arguments.agent)
    # Said before anything runs.
    (need_inspect if arguments.runner == "inspect" else need_pydantic_evals)("loopwright eval")
    _check(agent, _options(arguments))
    module, options, at_once = load_module(arguments.agent), _options(arguments), arguments.at_once or _AT_ONCE
    if arguments.runner == "inspect":
        from loopwright.evals._with_inspect import run_with_inspect

        return run_with_inspect(file, agent, module, options, at_once, os.fspath(arguments.log_dir))
    from loopwright.evals._with_pydantic import run_with_pydantic

    return run_with_pydantic(file, agent, module, options, at_once), None


def _told(outcome: Outcome) -> dict[str, Any]:
    from pydantic_core import to_jsonable_python

    told: dict[str, Any] = to_jsonable_python(vars(outcome), fallback=str)
    return told


def _show(outcomes: list[Outcome], screen: Screen) -> None:
    columns = max([min(width(one_line(outcome.name)), _WIDEST) for outcome in outcomes] + [4])
    head = f"  {'case':<{columns}}  {'result':<7} {'requests':>8} {'tokens':>8} {'cost':>8} {'time':>8}"
    screen.answer(head, style=Style.BOLD)
    for outcome in outcomes:
        name = fit(one_line(outcome.name), columns)
        name += " " * (columns - width(name))
        used = outcome.metrics
        tokens = used.get("input_tokens", 0) + used.get("output_tokens", 0)
        cells = (
            f"{used['requests']:,.0f}" if "requests" in used else "-",
            f"{tokens:,.0f}" if tokens else "-",
            f"{used['cost']:.4f}" if "cost" in used else "-",
            "-" if outcome.duration is None else seconds(outcome.duration),
        )
        line = f"  {name}  {outcome.state:<7} " + " ".join(f"{cell:>8}" for cell in cells)
        screen.answer(line, style=_STYLES.get(outcome.state))
        for reason in (*outcome.reasons, *([] if outcome.error is None else [outcome.error])):
            text = "    " + fit(one_line(clean(reason)), _LONGEST)
            screen.answer(wrap(text, screen.columns, margin=4) if screen.out_is_live else text)
