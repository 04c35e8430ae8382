"""How the runs of an `Agent` begin, go and end: in the caller's thread, or as a stream; from a prompt or a journal."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing, suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from . import _core, _recent
from ._attempts import Attempts, Progress
from ._continue import Begun
from ._instrument import observing
from ._journal_paths import is_store, locate_journal, text_of
from ._options import of_run
from ._plan import model_name, named_run, new_run, run_id
from ._prepared import Prepared
from ._run_options import overridden_deps, taken, varied
from ._stream import RunStream, _checked, _heard, _heard_out
from ._typed import Deps, Output
from .errors import LoopwrightError, UsageError
from .messages import prompt_of
from .result import Messages, Named, Result, added, error_of, from_outcome

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping

    from ._driver import Driver, SyncDriver
    from ._plan import Plan
    from ._sync_stream import SyncStream
    from .budget import Budget
    from .children import AgentPlan
    from .events import Event
    from .signal import Signal


_NOT_OF_PAST = ("messages", "run_id", "on_existing", "instructions")
"""Options of a run that one which goes on has from where it comes."""
_NOBODY = _core.History([])
"""Before anybody has said anything."""


@cache
def _sync_driver() -> type[SyncDriver]:
    """Loaded by the first run; an import costs thousands of instructions each time, even of what is there."""
    from ._driver import SyncDriver

    return SyncDriver


class Running(Prepared[Deps, Output]):
    """An agent's runs."""

    def _run_sync(self, prompt: Any, deps: Any, options: dict[str, Any]) -> Result[Output]:
        agent, parts = self._taken("run_sync", options)
        conversation = agent._begins_with(prompt, options)
        limits = agent._limits(prompt, options.get("budget"))
        agent, begin = agent._once(parts)
        conversation = conversation if begin is None else None
        return agent._driven(conversation, limits, overridden_deps(self, deps), **parts, begin=begin)  # type: ignore[no-any-return]

    def _once(self, parts: dict[str, Any]) -> tuple[Any, Callable[[Plan], Begun] | None]:
        """Who runs, and what begins the run, where one of its name is there and may be gone on with."""
        if self._on_existing == "error":
            return self, None
        from ._existing import existing

        place = self.journal if parts["journal"] is None else parts["journal"]
        found = existing(self, place)
        if found is None:
            return self, None
        parts["journal"] = None
        return found

    def _stream(self, whose: str, prompt: Any, deps: Any, options: dict[str, Any], *, watch: bool) -> RunStream[Output]:
        """The events of a run on a prompt."""
        # `run` takes its `on_event` itself.
        agent, parts = self._taken(whose, options, "on_event")
        conversation = agent._begins_with(prompt, options)
        limits = agent._limits(prompt, options.get("budget"))
        place = agent.journal if parts["journal"] is None else parts["journal"]
        deps = overridden_deps(self, deps)
        agent, begin = agent._once(parts)
        if begin is not None:
            conversation = place = None
        return RunStream(agent, conversation, deps, limits, place, parts["signal"], watch=watch, begin=begin)

    async def _gone_on(
        self,
        whose: str,
        begin: Callable[..., Callable[[Plan], Begun]],
        source: Any,
        run: str | None,
        deps: Any,
        options: dict[str, Any],
    ) -> Result[Output]:
        """What a run gives that goes on where another one came to."""
        past = _of_past(source, run)
        agent, parts, limits = self._taken_up(whose, options, past)
        agent = _handed(agent, *past)
        begun, on_event = begin(*past), parts["on_event"]
        stream = RunStream(
            agent,
            None,
            overridden_deps(self, deps),
            limits,
            None,
            parts["signal"],
            watch=on_event is not None,
            begin=begun,
        )
        return await _heard_out(stream, on_event)

    def _gone_on_sync(
        self,
        whose: str,
        begin: Callable[..., Callable[[Plan], Begun]],
        source: Any,
        run: str | None,
        deps: Any,
        options: dict[str, Any],
    ) -> Result[Output]:
        """The same without asyncio."""
        past = _of_past(source, run)
        agent, parts, limits = self._taken_up(whose, options, past)
        agent, begun = _handed(agent, *past), begin(*past)
        parts["journal"] = None
        return agent._driven(None, limits, overridden_deps(self, deps), **parts, begin=begun)  # type: ignore[no-any-return]

    def _taken_up(
        self, whose: str, options: dict[str, Any], past: tuple[Any, str | None]
    ) -> tuple[Any, dict[str, Any], Budget]:
        """`_taken` of a run that goes on where another one came to, and what it may use. It stays its user's."""
        said = {**self._label(), **{name: value for name, value in options.items() if value is not None}}
        options = {**options, **{name: value for name, value in _whose(*past).items() if said.get(name) is None}}
        agent, parts = self._taken(whose, options, *_NOT_OF_PAST)
        return agent, parts, agent.budget if options.get("budget") is None else agent._limits("", options["budget"])

    def _taken(self, whose: str, options: dict[str, Any], *but: str) -> tuple[Any, dict[str, Any]]:
        """The agent that a run is of, and what else its options say."""
        if options:
            taken(whose, options, *but)
        agent = varied(self, options)
        agent._keyed()
        return agent, {name: options.get(name) for name in ("on_event", "journal", "signal")}

    def _driven(
        self,
        conversation: _core.History | None,
        limits: Budget,
        deps: Any,
        on_event: Callable[[Event], Any] | None,
        journal: str | os.PathLike[str] | bool | None,  # noqa: FBT001 - a place, or `True` for memory
        signal: Signal | None,
        begin: Callable[[Plan], Begun] | None = None,
    ) -> Result[Output]:
        """Runs in the caller's thread, from a conversation or from where another run has come."""
        of_run(signal=signal, on_event=on_event)
        if on_event is not None:
            _only_plain(on_event)
        watch = on_event is not None
        place = self.journal if journal is None else journal
        progress: Progress[SyncDriver, Output] = Progress(observing(self))
        attempts = self._attempts(conversation, limits, deps, place, progress, watch=watch, begin=begin)
        while attempts.more:
            attempts.list_tools()
            with attempts as (driver, start), closing(driver.events(start, signal)) as events:
                for event in events:
                    if on_event is not None:
                        _heard(on_event(event))
        result, following = attempts.end()
        last = attempts.last(result, following.end(result))
        if on_event is not None:
            for event in last:
                _heard(on_event(event))
        return _checked(result)

    def _attempts(
        self,
        conversation: _core.History | None,
        limits: Budget,
        deps: Any,
        place: Any,
        progress: Progress[SyncDriver, Output],
        *,
        watch: bool,
        begin: Callable[[Plan], Begun] | None = None,
    ) -> Attempts[SyncDriver, Output]:
        """The attempts of a run in the caller's thread."""
        return Attempts(
            self, _sync_driver(), conversation, deps, limits, place, begin=begin, progress=progress, watch=watch
        )

    def _stream_sync(self, prompt: Any, deps: Any, options: dict[str, Any]) -> SyncStream[Output]:
        from ._sync_stream import SyncStream

        agent, parts = self._taken("stream_sync", options, "on_event")
        conversation = agent._begins_with(prompt, options)
        limits = agent._limits(prompt, options.get("budget"))
        place = agent.journal if parts["journal"] is None else parts["journal"]
        agent, begin = agent._once(parts)
        if begin is not None:
            conversation = place = None
        return SyncStream(agent, conversation, overridden_deps(self, deps), limits, place, parts["signal"], begin=begin)

    def _begins_with(self, prompt: Any, options: Mapping[str, Any]) -> _core.History:
        """What a run begins with: the prompt, behind what was said before."""
        if options.get("session") is None:
            return self._conversation(prompt, options.get("messages"))
        from ._session import said_before

        place = self.journal if options.get("journal") is None else options["journal"]
        return self._conversation(prompt, said_before(options, place, self._label()))

    def _conversation(self, prompt: Any, messages: Any) -> _core.History:
        if type(prompt) is str and messages is None and prompt.strip():
            # What most runs begin with. Halves of characters go the long way.
            with suppress(UnicodeEncodeError):
                return _NOBODY.said(prompt)
        said = prompt_of(prompt)
        if not said.content or (isinstance(prompt, str) and not prompt.strip()):
            message = "the prompt is empty"
            raise UsageError(message, "empty_prompt", "say what the model shall do")
        if isinstance(messages, (str, bytes, dict)) or not isinstance(messages, (Iterable, type(None))):
            message = f"messages are a list of messages, not {type(messages).__name__}"
            raise UsageError(message, "invalid_messages", "give result.messages of an earlier run")
        before = messages if isinstance(messages, Messages) else Messages(messages if messages is not None else ())
        return before._history.extended(f"[{said.to_json()}]")

    def _reflect(self, result: Result[Any], deps: Any) -> None:
        """The hooks after the answer: around the work that follows the turn, or alone; in the background."""
        if "pre_reflect" not in self._hooks and "post_reflect" not in self._hooks:
            return
        from .hooks._reflect import reflect, reflect_soon

        hooks = [hook for stage in self._hooks.values() for hook in stage]
        if self._remember is None or self._remember.after is None:
            reflect_soon(hooks, result, deps)
        else:
            around = lambda work: reflect(hooks, result, deps, work)  # noqa: E731
            self._remember.memory._after.surround(result.run_id, around)

    def _begun(self, plan: Plan, journal: Any, attempt: int, conversation: _core.History | None) -> Begun:
        """A run that begins."""
        name = run_id()
        if self._run_name is not None:
            name = self._run_name if attempt == 0 else f"{self._run_name}-{attempt + 1}"
            run, path = named_run(plan, name, journal, attempt)
        else:
            run, path = new_run(plan, name, journal, attempt)
        return Begun(run, path, name, _core.Event.start(conversation if conversation is not None else []))

    def _finish(
        self,
        driver: Driver,
        run: _core.Run,
        plan: Plan,
        name: str,
        path: str | None,
        earlier: Result[Any] | None,
    ) -> tuple[Result[Any], str | None]:
        """The result; and what the model should be told if its answer is not of the type."""
        outcome = driver.outcome
        assert outcome is not None, "a driver ends with an outcome"  # noqa: S101 - a fault of ours
        history = run.messages
        result = from_outcome(
            outcome,
            messages=history,
            run_id=name,
            named=_named(plan),
            journal=path or run.journal,
            models={kind: _named(each) for kind, each in plan.agents.items()},
            noted=run.noted_json(),
            raised=driver.raised,
        )
        if plan.session is not None:
            plan.session._add(result.roles.get("supervised", ()))
        if earlier is not None:
            result = added(earlier, result)
        result.__dict__.update(_pending=driver.questions.pending, _agent=self.name)
        error = error_of(outcome)
        if error is not None and error.code == "invalid_output":
            from ._answer_tool import explained

            error = explained(error, driver.raised)
        feedback = None
        if self._output is not None and error is None:
            vars(result).pop("output", None)
            if result.final is not None:
                from ._answer_tool import taken
                from .tools import InvalidOutput

                try:
                    object.__setattr__(result, "output", taken(self._output, result, driver.given))
                except InvalidOutput as invalid:
                    error, feedback = invalid, invalid.feedback
        if error is not None:
            error.result = result
            object.__setattr__(result, "error", error)
        if _recent.kept is not None:
            _recent.note(result)
        return result, feedback

    def _explain(
        self,
        error: LoopwrightError,
        driver: Driver,
        run: _core.Run,
        plan: Plan,
        name: str,
        path: str | None,
        earlier: Result[Any] | None,
    ) -> None:
        """Gives an error that broke a run off what the run had reached."""
        if error.result is None and driver.outcome is not None:
            error.result = self._finish(driver, run, plan, name, path, earlier)[0]


def _handed(agent: Any, source: Any, run: str | None) -> Any:
    """The agent of a run's segment, where it was handed over."""
    if not agent._given.get("handoffs"):
        return agent
    path = locate_journal(source, run).label().get("handed_off_to")
    if not isinstance(path, list):
        return agent
    from ._handoff import target_of

    found = target_of(agent, path)
    found._labels["handed_off_to"] = path
    return found


def _of_past(source: Any, run: str | None) -> tuple[Any, str | None]:
    """The journal of an earlier run, and its name there: of a `Result`, its own."""
    if not isinstance(source, Result):
        return source, run
    if source.journal is None:
        message = "the run kept no journal"
        raise UsageError(message, "no_journal", "run it with journal=True, or with a folder for journals")
    return source.journal, source.run_id if is_store(source.journal) and run is None else run


def _whose(journal: Any, run: str | None) -> dict[str, Any]:
    """The user and the session of an earlier run. What is wrong with its journal is said where it is read."""
    with suppress(LoopwrightError):
        label = locate_journal(journal, run).label()
        named = {name: text_of(label, name) for name in ("user", "session")}
        return {name: value for name, value in named.items() if value is not None}
    return {}


def _named(plan: Plan | AgentPlan) -> Named:
    """How the models are shown that may act for a run, or for a sub-agent."""
    chain = [model_name(endpoint, model) for endpoint, model in plan.chains.get("executor", ())]
    return Named(model_name(plan.endpoint, plan.model), chain, getattr(plan, "own_models", ()))


def _only_plain(on_event: Callable[[Event], Any]) -> None:
    from inspect import iscoroutinefunction

    if iscoroutinefunction(on_event):
        message = "run_sync calls on_event without an event loop"
        raise UsageError(message, "invalid_callback", "give a plain function, or await run")
