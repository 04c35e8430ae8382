"""Runs that go on where a journal ends, and runs that begin as another one did."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from . import _core
from ._dataclasses import dataclass, replace
from ._journal_paths import beside, locate_journal
from ._plan import about, place_of, run_id, writing, written_run
from ._replay import naming
from ._suspend import with_answers
from ._urls import is_url
from .errors import UsageError
from .messages import prompt_of

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping

    from ._approval import Approval
    from ._journal_paths import JournalPath
    from ._plan import Plan
    from .children import AgentPlan
    from .tools._offered import Offered

__all__ = ["Begun", "OnDivergence", "forking", "resuming"]

OnDivergence = Literal["error", "fork"]


@dataclass
class Begun:
    """A run, the path of its journal, its name, and what its driver does first."""

    run: _core.Run
    path: str | None
    name: str
    start: _core.Event | list[_core.Command]
    """The first event; or the commands that have no answer yet, of a run with a past."""
    plan: Plan | None = None
    """Its own plan, where a journal says what its toolsets offered."""
    offered: Offered | None = None
    """What they did."""
    made: int = 0
    """The attempts before it."""


_GO_ON = "Go on."
"""What a run is told that goes on with a larger budget."""


def resuming(
    journal: str | os.PathLike[str],
    run: str | None = None,
    on_divergence: OnDivergence = "error",
    answer: Any = None,
    answers: Any = None,
    shown: Mapping[str, Approval] | None = None,
    *,
    more: bool = False,
    stored: bool = False,
) -> Callable[[Plan], Begun]:
    """Begins where a journal ends; with `on_divergence="fork"` in a new journal beside it, where this version decides
    otherwise than the one that wrote it; with an `answer` in a new journal beside that of a run that has ended;
    with `more` of a budget so does one that ended at a limit.
    """
    if on_divergence not in {"error", "fork"}:
        message = f"on_divergence is 'error' or 'fork', not {on_divergence!r}"
        raise UsageError(
            message, "invalid_value", "with 'fork' the run goes on in a new journal, from where the rules part"
        )
    if isinstance(answers, str):
        message = f"answers are a dict by call_id, not {answers!r:.100}"
        raise UsageError(message, "invalid_answers", "name a run by run=")
    if answer is not None:
        if answers:
            message = "answer is for a run that has ended, answers are for the pending calls of one that was left"
            raise UsageError(message, "invalid_option", "give one of them")
        return _answering(journal, run, answer, more=more)
    begin = _going_on(journal, run, on_divergence)
    if answers is not None:
        return _answered(begin, answers, shown, stored=stored)
    return _with_more(begin, journal, run) if more else begin


def _going_on(journal: str | os.PathLike[str], run: str | None, on_divergence: OnDivergence) -> Callable[[Plan], Begun]:
    """Begins where a journal ends."""

    def begin(plan: Plan) -> Begun:
        found = locate_journal(journal, run)
        if found.text is not None:
            message = "a run goes on in its journal, and this is text"
            raise UsageError(message, "journal_not_found", "give the path of its journal; or fork it")
        path = found.path or ""
        with naming(found):
            name, _, machine = _core.journal_head(found.head())
            plan, offered = _recalled(plan, machine)
            _check_tools(plan, machine)
            _check_models(plan, machine)
            _check_choice(plan, machine)
            try:
                with writing(path, "be resumed", "give the path of a journal that can be written to"):
                    if found.run is not None:
                        going, commands, place = resumed_stored(path, found.run)
                    else:
                        going, commands, place = _core.Run.resume(path)
            except UsageError as error:
                if error.code != "journal_diverged" or on_divergence != "fork":
                    raise
                return replace(_reopened(plan, found, name), plan=plan, offered=offered)
        return Begun(going, place, name, commands, plan, offered)

    return begin


def resumed_stored(path: str, name: str) -> tuple[Any, list[_core.Command], str]:
    """The run of a store, its open commands, and the store that it goes on in."""
    if is_url(path):
        from ._postgres import resumed_run

        return resumed_run(path, name)
    return _core.Run.resume_stored(path, name)


def _with_more(begin: Callable[[Plan], Begun], journal: Any, run: str | None) -> Callable[[Plan], Begun]:
    """Begins with another budget: a run that has ended is told to go on."""

    def begun(plan: Plan) -> Begun:
        found = locate_journal(journal, run)
        with naming(found):
            outcome = _core.replay(found.read())[0]["outcome"]
        met_limit = outcome is not None and _core.is_limit(outcome["stop"])
        return _answering(journal, run, _GO_ON, more=True)(plan) if met_limit else begin(plan)

    return begun


def _answered(
    begin: Callable[[Plan], Begun], answers: Any, shown: Mapping[str, Approval] | None, *, stored: bool
) -> Callable[[Plan], Begun]:
    """Begins with answers to calls that wait for a person."""

    def bound(plan: Plan) -> Begun:
        given = with_answers(plan.approve, answers, shown, stored=stored)
        begun = begin(replace(plan, approve=given))
        try:
            given.bind(begun.run, begun.start, begun.plan or plan)
        except BaseException:
            begun.run.close()
            raise
        return begun

    return bound


def _answering(journal: str | os.PathLike[str], run: str | None, answer: Any, *, more: bool) -> Callable[[Plan], Begun]:
    """Begins with all that a run said until it ended, and the answer to that; with `more` under another budget."""

    def begin(plan: Plan) -> Begun:
        found = locate_journal(journal, run)
        with naming(found):
            told = _core.replay(found.read())[0]
        if told["divergence"] is not None:
            message = f"this version decides otherwise at event {told['divergence']['seq']} of {found.name}"
            raise UsageError(message, "journal_diverged", "resume it with on_divergence='fork', and answer that run")
        if told["outcome"] is None:
            message = f"{found.name} broke off before it ended: it waits for no answer"
            hint = "resume it without an answer; calls that wait for a person take answers={call_id: ...}"
            raise UsageError(message, "run_not_ended", hint)
        return forking(
            found.text or journal,
            told["events"],
            _beside(found),
            prompt=answer,
            source_run=run,
            budget=more,
        )(plan)

    return begin


def _beside(found: JournalPath) -> Any:
    """The place for a journal beside another one; memory for one that is text."""
    return True if found.text is not None else beside(found.path or "")


def _reopened(plan: Plan, found: JournalPath, forked: str) -> Begun:
    """Begins as the run of a journal did, up to the event that this version decides otherwise."""
    from .journal import Journal

    text = found.read()
    divergence = _core.replay(text)[0]["divergence"]
    place_beside = _beside(found)
    # The one name that a fork of this run can have: whoever tries again finds that it is there.
    name = f"{forked}-fork"
    path = place_of(place_beside, name)
    from pathlib import Path

    known = Path(path or "").exists() if found.run is None else name in {run.id for run in Journal(place_beside).runs()}
    if known:
        message = f"the run {forked!r} was gone on with already, as {name!r}"
        raise UsageError(message, "already_forked", "resume that run; or fork this one at an event, as another run")
    seq, reason = divergence["seq"], divergence["reason"]
    with writing(path, "be made", "give a folder that can be written to"):
        told = about({**plan.labels, "forked_from": forked, "forked_at": seq, "forked_because": reason})
        make = partial(_core.Run.reopen, name, text, about=told)
        run, commands = written_run(make, place_beside, path, name=name, told=told, model=plan.model_name)
    import logging

    logging.getLogger("loopwright.journal").warning(
        "the run %s goes on as %s from event %d, where the rules part: %s", forked, name, seq, reason
    )
    return Begun(run, path, name, commands)


def forking(
    source: str | os.PathLike[str],
    at: int,
    journal: str | os.PathLike[str] | bool | None,  # noqa: FBT001 - a place, or `True` for memory
    *,
    prompt: Any = None,
    result: str | None = None,
    source_run: str | None = None,
    budget: bool = False,
) -> Callable[[Plan], Begun]:
    """Begins as the run of another journal did, up to event `at`; with a prompt it may take the budget of the plan."""
    if not isinstance(at, int) or isinstance(at, bool) or at < 1:
        message = f"an event is named by its number from 1, not {at!r}"
        raise UsageError(message, "no_such_event", "loopwright replay --steps shows them")
    message_json = None if prompt is None else prompt_of(prompt).to_json()

    def begin(plan: Plan) -> Begun:
        found = locate_journal(source, source_run)
        text = found.read()
        with naming(found):
            forked, _, machine = _core.journal_head(text)
            plan, offered = _recalled(plan, machine)
            _check_tools(plan, machine)
            # The models are those of the agent. Who chooses was asked in events that the fork begins with.
            _check_choice(plan, machine, "ask")
        name = run_id()
        path = place_of(journal, name)
        with writing(path, "be made", "give a folder that can be written to, or a new file"):
            told = about({**plan.labels, "forked_from": forked, "forked_at": at})
            changed: dict[str, Any] = {
                "prompt": message_json,
                "models": plan.config,
                "budget": budget,
                "slow": plan.endpoint is not None and plan.endpoint.batch,
                "result": result,
            }
            make = partial(_core.Run.fork, name, text, at, **changed, about=told)
            run, commands = written_run(make, journal, path, name=name, told=told, model=plan.model_name)
        return Begun(run, path, name, commands, plan, offered)

    return begin


def _turn_of(machine: str) -> dict[str, Any]:
    from .machine import turn_of

    return turn_of(json.loads(machine))


def _recalled(plan: Plan, machine: str) -> tuple[Plan, Offered | None]:
    """The plan with the tools that the run of a journal was offered by toolsets."""
    if plan.recall is None:
        return plan, None
    found, offered = plan.recall(_turn_of(machine))
    # What a person has said stays with the run.
    return replace(found, approve=plan.approve), offered


def _check_models(plan: Plan, machine: str) -> None:
    """A run goes on with the models that it began with: other hosts would be asked for some that they do not have. A
    model of one's own is asked whatever its name.
    """
    here = {place: (name, own) for place, name, own in _asked(_turn_of(plan.config.to_json()), plan, plan.agents)}
    for place, began, _ in _asked(_turn_of(machine), plan, plan.agents):
        name, own = here.get(place, (None, False))
        if own or name == began:
            continue
        message = f"the run began with {place} {began!r}, and this agent has {name!r}"
        hint = "make the agent with that model; or fork the run, or give an answer, to go on with this one"
        raise UsageError(message, "other_model", hint)


def _check_choice(plan: Plan, machine: str, part: str | None = None) -> None:
    """A run that may choose its model needs somebody who chooses; with `part`, one whose choice has that member."""
    choice = _turn_of(machine).get("choice")
    if choice is not None and not plan.chooses and (part is None or choice.get(part)):
        message = "the run may choose its model, and this agent has nobody who chooses"
        hint = "make the agent with the Router(...) or the Model(escalate_to=...) of that run"
        raise UsageError(message, "missing_hook", hint)


def _asked(
    turn: dict[str, Any], plan: Plan | AgentPlan, agents: Mapping[str, AgentPlan], kind: str = ""
) -> Iterator[tuple[str, str, bool]]:
    """The models that a turn and its sub-agents ask: the place of each, its name, and whether it is one's own here."""
    of = f" of the sub-agent {kind[:-1]}" if kind else ""
    roles = turn.get("roles") or {}
    chains = {"executor": roles.get("fallback") or ()}
    parts = {role: one.get("role", one) for role, one in roles.items() if isinstance(one, dict)}
    chains |= {role: one["chain"] for role, one in parts.items() if "chain" in one}
    yield f"the model{of}", turn["model"], plan.model is not None
    for role, chain in chains.items():
        served = plan.chains.get(role, ())
        for at, one in enumerate(chain):
            own = at < len(served) and served[at][1] is not None
            yield f"model {at + 1} of the {role}'s chain{of}", one["model"], own
    for agent in turn.get("children", {}).get("agents", ()):
        inner = f"{kind}{agent['name']}"
        yield from _asked(agent["turn"], agents.get(inner, plan), agents, f"{inner}/")
    if (escalates := (turn.get("choice") or {}).get("escalate_to")) is not None:
        yield f"the model to escalate to{of}", escalates, False


def _check_tools(plan: Plan, machine: str) -> None:
    turn = _turn_of(machine)
    missing = [tool["name"] for tool in turn["tools"] if tool["name"] not in plan.tools]
    missing += _missing_of_agents(plan, turn, "")
    if missing:
        message = f"the run has tools that this agent lacks: {', '.join(missing)}"
        raise UsageError(message, "missing_tool", "make the agent with the tools that the run began with")
    # What hooks keep safe shall not go on without them.
    bare = [stage for stage in turn.get("hooks", ()) if stage not in plan.hooks]
    if bare:
        message = f"the run has hooks that this agent lacks, at {', '.join(bare)}"
        raise UsageError(message, "missing_hook", "make the agent with the hooks that the run began with")


def _missing_of_agents(plan: Plan, turn: dict[str, Any], above: str) -> list[str]:
    """What the sub-agents of a run have, and those of the plan lack."""
    missing: list[str] = []
    for agent in turn.get("children", {}).get("agents", ()):
        kind = f"{above}{agent['name']}"
        known = plan.agents.get(kind)
        if known is None:
            missing.append(f"the sub-agent {kind}")
            continue
        tools = [tool["name"] for tool in agent["turn"]["tools"]]
        missing += [f"{name} of {kind}" for name in tools if name not in known.tools]
        missing += _missing_of_agents(plan, agent["turn"], f"{kind}/")
    return missing
