"""The spans of a run, made of what its driver hears: events of the machine, requests, calls of tools.

Nothing here reaches the run: what OpenTelemetry raises is logged (`loopwright.otel`), and the run goes on.
"""

from __future__ import annotations

import functools
import json
import logging
import time
from typing import TYPE_CHECKING, Any, TypeVar

from opentelemetry import context as contexts
from opentelemetry.trace import SpanKind, Status, StatusCode, set_span_in_context

from loopwright._conventions import table

from . import _content
from ._phases import Phases
from ._telemetry import telemetry_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.context import Context
    from opentelemetry.trace import Span

    from loopwright import _core
    from loopwright._driver import Driver
    from loopwright._instrument import Instrumentation
    from loopwright._running import Running
    from loopwright.result import Result

    from ._telemetry import Telemetry

__all__ = ["RunSpans", "observer"]

_LOG = logging.getLogger("loopwright.otel")
_NOT_FAILED = frozenset({"suspended"})
"""Codes of errors that end no run: somebody else goes on with it."""

Method = TypeVar("Method", bound="Callable[..., Any]")


def observer(instrument: Instrumentation, agent: Running[Any, Any]) -> RunSpans | None:
    """Who traces the next run of an agent; nobody where OpenTelemetry can't even begin to."""
    try:
        return RunSpans(telemetry_of(instrument), agent)
    except Exception:  # noqa: BLE001 - a run is never lost by who watches it
        _LOG.warning("a run can't be traced, and goes on without", exc_info=True)
        return None


def _harmless(method: Method) -> Method:
    """What the method raises is logged once a run, and gives nothing."""

    @functools.wraps(method)
    def guarded(self: RunSpans, *given: Any) -> Any:
        try:
            return method(self, *given)
        except Exception:  # noqa: BLE001 - a run is never lost by who watches it
            self.complain()
            return None

    return guarded  # type: ignore[return-value]


class Within:
    """A span that is the current one where code of others runs."""

    __slots__ = ("_context",)

    def __init__(self, context: Context) -> None:
        self._context = context

    def call(self, function: Callable[[], Any]) -> Any:
        """What `function` gives, called within the span."""
        token = contexts.attach(self._context)
        try:
            return function()
        finally:
            contexts.detach(token)

    async def awaited(self, function: Callable[[], Any]) -> Any:
        """What the awaitable gives that `function` gives, awaited within the span."""
        # The task is the work's own, and so is its context: there is nothing to go back to.
        contexts.attach(self._context)
        return await function()


class Open:
    """A span that has begun."""

    __slots__ = ("about", "began", "context", "first", "path", "span")

    def __init__(self, span: Span, context: Context, path: str | None, about: dict[str, Any]) -> None:
        self.span = span
        self.context = context
        self.path = path
        self.about = about
        self.began = time.perf_counter()
        # When the first piece of an answer came, as a time of the clock.
        self.first: int | None = None

    @property
    def seconds(self) -> float:
        """Since it has begun."""
        return time.perf_counter() - self.began


class RunSpans:
    """The spans of one run, with all its attempts."""

    def __init__(self, telemetry: Telemetry, agent: Running[Any, Any]) -> None:
        self.telemetry = telemetry
        self.names = telemetry.names
        self.agent = agent
        self.called_name = agent.name or agent._called
        self.parent = contexts.get_current()
        self.root: Open | None = None
        self.open: dict[tuple[Any, ...], Open] = {}
        self.requests: dict[int, Open] = {}
        # Requests that have shown nothing yet.
        self.unshown: set[int] = set()
        self.judged: dict[tuple[str | None, str], Any] = {}
        # Why the last request failed, by the path of who asked.
        self.failures: dict[str | None, str] = {}
        self.phases = Phases(self)
        self.driver: Driver | None = None
        self.wanted = _wanted()
        self.stepped = 0
        self.ended = self.complained = False

    # ---- what drivers call ----

    @_harmless
    def begin(self, driver: Driver) -> None:
        """An attempt of the run begins."""
        self.driver = driver
        if self.root is None:
            self.root = self._root(driver)
        if driver.variables is not None:
            # What others run for this run is within its span.
            driver.variables.run(contexts.attach, self.root.context)

    @_harmless
    def stepping(self, event: _core.Event) -> None:
        """The machine is fed with an event: the answer to a request, if it is one."""
        self.stepped = time.time_ns()
        if self.requests:
            kind, told = next(iter(json.loads(event.to_json()).items()))
            request = self.requests.pop(told.get("id"), None) if kind in ("generated", "failed") else None
            if request is not None:
                self.unshown.discard(told["id"])
                self._answered(request, kind, told)
        elif self.telemetry.tells and self.phases.question is None:
            kind, told = next(iter(json.loads(event.to_json()).items()))
            if kind == "start" and told["messages"]:
                self._prompted(told["messages"])

    @_harmless
    def heard(self, event: Any) -> None:
        """The machine tells something."""
        kind = type(event).__name__
        hear = getattr(self, f"_on_{kind}", None)
        if hear is not None:
            hear(event)
        told = table()["events"].get(kind)
        if told is not None and self.root is not None:
            found = {name: getattr(event, name) for name in told["fields"]}
            if self.telemetry.tells:
                found |= {name: _content.plain(getattr(event, name)) for name in told["content"]}
            self._place(event.path).span.add_event(told["name"], _known(found))

    @_harmless
    def asked(self, driver: Driver, command: _core.Command, provider: str, host: str) -> Within | None:
        """A request to a model goes out."""
        command_id: int = command.id  # type: ignore[assignment]
        agent, path = driver.who(command_id)
        self._close(("retry", path))
        names, request = self.names, command.request
        model, known = request.model, table()["providers"]  # type: ignore[union-attr]
        purpose, operation = str(command.purpose), self.telemetry.operations["request"]
        counted = {
            names["operation"]: operation,
            names["provider"]: known.get(provider, provider or "custom"),
            names["model"]: model,
        }
        if host:
            name, _, port = host.partition(":")
            counted[names["server_address"]] = name
            if port.isdigit():
                counted[names["server_port"]] = int(port)
        more = self._shared(agent, path)
        more[names["purpose"]] = purpose
        more[names["attempt"]] = command.attempt or 1
        more[names["stream"]] = driver.watch
        if purpose == "executor" and path is None:
            config = self.agent._config
            for option in ("max_tokens", "temperature", "top_p"):
                if config.get(option) is not None:
                    more[names[option]] = config[option]
            if config.get("stop"):
                more[names["stop"]] = tuple(config["stop"])
        if self.telemetry.content:
            more |= self._asked_content(request)
        place = self._place(path)
        request_span = self._start(f"{operation} {model}", place.context, {**counted, **more}, SpanKind.CLIENT)
        opened = Open(request_span, set_span_in_context(request_span, place.context), path, counted)
        if self.telemetry.details:
            opened.about = {**counted, "": self._asked_content(request)}
        self.requests[command_id] = opened
        if driver.watch and purpose == "executor":
            self.unshown.add(command_id)
        return Within(opened.context)

    @_harmless
    def shown(self, command_id: int | None) -> None:
        """A piece of an answer has come."""
        if not self.unshown:
            return
        if command_id is None:
            own = [each for each in self.unshown if self.requests[each].path is None]
            # Of several at once nobody knows whose it is.
            if len(own) != 1:
                return
            command_id = own[0]
        elif command_id not in self.unshown:
            return
        self.unshown.discard(command_id)
        request = self.requests[command_id]
        request.first = time.time_ns()
        seconds = request.seconds
        request.span.set_attribute(self.names["first_chunk"], seconds)
        self.telemetry.metrics["first_chunk"].record(seconds, _counted(request))

    @_harmless
    def called(self, driver: Driver, command_id: int, call: _core.Call) -> Within | None:
        """A tool is called."""
        agent, path = driver.who(command_id)
        tool = driver.known_tool(command_id, call.name)
        opened = self._tool(agent, path, call.call_id, call.name, getattr(tool, "description", None))
        if self.telemetry.tells:
            opened.span.set_attribute(self.names["tool_arguments"], _redacted(call.arguments_json))
        return Within(opened.context)

    @_harmless
    def aborted(self, command_id: int) -> None:
        """Nobody wants the answer to a request any more."""
        request = self.requests.pop(command_id, None)
        if request is not None:
            self.unshown.discard(command_id)
            self._finish_request(request, "cancelled")

    @_harmless
    def end(self, result: Result[Any] | None, error: BaseException | None = None) -> None:
        """The run has ended, or was left."""
        root = self.root
        if self.ended or root is None:
            return
        self.ended = True
        failure = error if error is not None else (result.error if result is not None else None)
        code = getattr(failure, "code", None)
        kind = None
        if isinstance(failure, Exception) and code not in _NOT_FAILED:
            kind = str(code or type(failure).__name__)
        for request in self.requests.values():
            self._finish_request(request, kind or "cancelled")
        self.requests.clear()
        self.unshown.clear()
        for key in reversed(list(self.open)):
            self._close(key, "cancelled")
        self._told(root, result)
        if kind is not None and isinstance(failure, Exception):
            root.span.set_attribute(self.names["error"], kind)
            root.span.set_status(Status(StatusCode.ERROR, kind))
            self._raised(root.span, failure)
        root.span.end()
        counted = dict(root.about) if kind is None else {**root.about, self.names["error"]: kind}
        self.telemetry.metrics["agent"].record(root.seconds, counted)

    def complain(self) -> None:
        """Says once a run what went wrong with its spans."""
        if not self.complained:
            self.complained = True
            name = "?" if self.driver is None else self.driver.run_id
            _LOG.warning("tracing the run %s failed; the run goes on", name, exc_info=True)

    # ---- events ----

    def _on_CallJudged(self, event: Any) -> None:  # noqa: N802 - the event's name
        self.judged[event.path, event.call_id] = event

    def _on_ToolFinished(self, event: Any) -> None:  # noqa: N802
        opened = self.open.pop(("tool", event.path, event.call_id), None)
        if opened is None:
            # Nothing was called: it was refused, or its arguments could not be read.
            opened = self._tool(event.agent, event.path, event.call_id, event.name, None)
            del self.open["tool", event.path, event.call_id]
        if self.telemetry.tells:
            opened.span.set_attribute(self.names["tool_result"], _content.excerpt(event.excerpt))
        failure = None
        if event.is_error:
            failure = "tool_error"
            if event.error is not None:
                failure = str(getattr(event.error, "code", None) or type(event.error).__name__)
            opened.span.set_attribute(self.names["error"], failure)
            opened.span.set_status(Status(StatusCode.ERROR, failure))
            if event.error is not None:
                self._raised(opened.span, event.error)
        opened.span.end()
        counted = opened.about if failure is None else {**opened.about, self.names["error"]: failure}
        self.telemetry.metrics["tool"].record(opened.seconds, counted)

    def _on_ApprovalRequested(self, event: Any) -> None:  # noqa: N802
        names = self.names
        about = {names["tool_name"]: event.name, names["tool_call"]: event.call_id, names["risk"]: event.risk}
        key = ("approval", event.path, event.call_id)
        self._open(key, f"{self.telemetry.spans['approval']} {event.name}", event.agent, event.path, about)

    def _on_ApprovalDecided(self, event: Any) -> None:  # noqa: N802
        opened = self.open.get(("approval", event.path, event.call_id))
        if opened is not None:
            opened.span.set_attribute(self.names["allowed"], event.allowed)
            if self.telemetry.tells and event.reason:
                opened.span.set_attribute(self.names["approval_reason"], _content.plain(event.reason))
            self._close(("approval", event.path, event.call_id))

    def _on_Compacted(self, event: Any) -> None:  # noqa: N802
        names = self.names
        about = {
            **self._shared(event.agent, event.path),
            names["round"]: event.round,
            names["compact_reason"]: event.reason,
            names["compact_before"]: event.before,
            names["compact_after"]: event.after,
        }
        place = self._place(event.path)
        self._start(self.telemetry.spans["compaction"], place.context, about, start=self.stepped).end()

    def _on_Retry(self, event: Any) -> None:  # noqa: N802
        names = self.names
        reason = self.failures.pop(event.path, "unknown")
        about = {names["round"]: event.round, names["attempt"]: event.attempt, names["delay"]: event.delay}
        about[names["retry_reason"]] = _content.plain(event.reason) if self.telemetry.tells else reason
        self._open(("retry", event.path), self.telemetry.spans["retry"], event.agent, event.path, about)
        self.telemetry.metrics["retries"].add(1, {names["error"]: reason})

    def _on_AgentStarted(self, event: Any) -> None:  # noqa: N802
        names, operation = self.names, self.telemetry.operations["agent"]
        tool = self.open.get(("tool", event.path, event.call_id))
        if tool is None:
            judged = self.judged.get((event.path, event.call_id))
            called = event.name if judged is None else judged.name
            tool = self._tool(event.agent, event.path, event.call_id, called, None)
        about = {
            **self._shared(event.name, event.child),
            names["operation"]: operation,
            names["model"]: event.model,
        }
        if self.telemetry.content:
            said = [{"role": "user", "parts": [{"type": "text", "content": event.task}]}]
            about[names["input_messages"]] = _content.shown(said)
        span = self._start(f"{operation} {event.name}", tool.context, about)
        counted = {names["operation"]: operation, names["agent_name"]: event.name}
        context = set_span_in_context(span, tool.context)
        self.open["child", event.child] = Open(span, context, event.child, counted)

    def _on_AgentFinished(self, event: Any) -> None:  # noqa: N802
        opened = self.open.pop(("child", event.child), None)
        if opened is None:
            return
        names = self.names
        found = {
            names["stop_reason"]: event.stop_reason,
            names["rounds"]: event.requests,
            names["total_input"]: event.usage.get("input", 0),
            names["total_output"]: event.usage.get("output", 0),
        }
        if event.is_error:
            found[names["error"]] = event.stop_reason
            opened.span.set_status(Status(StatusCode.ERROR, event.stop_reason))
        opened.span.set_attributes(found)
        opened.span.end()
        self.telemetry.metrics["agent"].record(opened.seconds, opened.about)

    def _on_PhaseStarted(self, event: Any) -> None:  # noqa: N802
        self.phases.started(event)

    def _on_PhaseFinished(self, event: Any) -> None:  # noqa: N802
        self.phases.finished(event)

    # ---- spans ----

    def _start(
        self,
        name: str,
        context: Context,
        attributes: dict[str, Any],
        kind: SpanKind = SpanKind.INTERNAL,
        start: int | None = None,
    ) -> Span:
        return self.telemetry.tracer.start_span(name, context, kind, attributes, start_time=start)

    def _root(self, driver: Driver) -> Open:
        names, operation, agent = self.names, self.telemetry.operations["agent"], self.agent
        remember = agent._remember
        session = None if remember is None else getattr(remember, "session", None)
        about = {
            **self._shared(None, None),
            names["operation"]: operation,
            names["conversation"]: session or driver.run_id,
            names["run"]: driver.run_id,
            names["model"]: agent._config["model"],
            names["provider"]: self._provider(),
            names["agent_description"]: getattr(agent, "description", None),
            names["output_type"]: "json" if agent._output is not None else "text",
            names["user"]: None if remember is None else getattr(remember, "user", None),
        }
        name = f"{operation} {self.called_name}" if self.called_name else operation
        span = self._start(name, self.parent, _known(about))
        counted = {names["operation"]: operation}
        if self.called_name:
            counted[names["agent_name"]] = self.called_name
        return Open(span, set_span_in_context(span, self.parent), None, counted)

    def _provider(self) -> str:
        endpoint = self.agent._endpoint
        provider = "custom" if endpoint is None else endpoint.provider
        return str(table()["providers"].get(provider, provider))

    def _shared(self, agent: str | None, path: str | None) -> dict[str, Any]:
        """What every span of an agent says. One attribute of `gen_ai` is among it: some readers want one of a span."""
        found: dict[str, Any] = {self.names["agent_name"]: agent or self.called_name or "agent"}
        if path is not None:
            found[self.names["path"]] = path
        return found

    def _place(self, path: str | None) -> Open:
        """Below which span something of the run, or of a sub-agent, goes on."""
        if path is not None and (child := self.open.get(("child", path))) is not None:
            return child
        return self.phases.current or self.root  # type: ignore[return-value]

    def _open(
        self, key: tuple[Any, ...], name: str, agent: str | None, path: str | None, attributes: dict[str, Any]
    ) -> Open:
        place = self._place(path)
        span = self._start(name, place.context, {**self._shared(agent, path), **attributes})
        opened = self.open[key] = Open(span, set_span_in_context(span, place.context), path, {})
        return opened

    def open_below(self, place: Open, name: str, attributes: dict[str, Any], start: int | None = None) -> Open:
        """A span of the run itself below another, which began at that time of the clock, or now."""
        span = self._start(name, place.context, {**self._shared(None, None), **attributes}, start=start)
        return Open(span, set_span_in_context(span, place.context), None, {})

    def _close(self, key: tuple[Any, ...], failure: str | None = None) -> None:
        opened = self.open.pop(key, None)
        if opened is not None:
            if failure is not None:
                opened.span.set_attribute(self.names["error"], failure)
            opened.span.end()

    def _tool(self, agent: str | None, path: str | None, call_id: str, name: str, description: str | None) -> Open:
        names, operation = self.names, self.telemetry.operations["tool"]
        about = {
            names["operation"]: operation,
            names["tool_name"]: name,
            names["tool_call"]: call_id,
            names["tool_type"]: "function",
        }
        if description:
            about[names["tool_description"]] = description
        judged = self.judged.pop((path, call_id), None)
        if judged is not None:
            about[names["verdict"]], about[names["risk"]] = judged.verdict, judged.risk
        opened = self._open(("tool", path, call_id), f"{operation} {name}", agent, path, about)
        opened.about = {names["operation"]: operation, names["tool_name"]: name}
        return opened

    def _answered(self, request: Open, kind: str, told: dict[str, Any]) -> None:
        """A request has its answer."""
        if kind == "failed":
            if self.telemetry.tells:
                self._event(request, {self.names["exception_message"]: _content.plain(told["failure"]["message"])})
            self.failures[request.path] = told["failure"]["kind"]
            self._finish_request(request, told["failure"]["kind"])
            return
        try:
            self._describe(request, told["response"])
        finally:
            self._finish_request(request)
        self.phases.streamed(request)

    def _describe(self, request: Open, answer: dict[str, Any]) -> None:
        """What the provider says of its answer."""
        names, usage, stop = self.names, answer["usage"], answer["stop"]
        stop = stop if isinstance(stop, str) else str(next(iter(stop.values())))
        finish = table()["finish_reasons"].get(stop, stop)
        found: dict[str, Any] = {names["finish_reasons"]: (finish,)}
        if answer.get("id"):
            found[names["response_id"]] = answer["id"]
        if answer.get("model"):
            found[names["response_model"]] = answer["model"]
        for name, key in _USAGE:
            if usage.get(key) or key in ("input", "output"):
                found[names[name]] = usage.get(key, 0)
        if self.telemetry.content:
            found[names["output_messages"]] = _content.shown(_content.output(answer["message"], finish))
        request.span.set_attributes(found)
        self._count(request, usage)
        if self.telemetry.details:
            said = {names["output_messages"]: _content.shown(_content.output(answer["message"], finish))}
            self.telemetry.logger.emit(
                event_name=table()["details"],
                context=request.context,
                timestamp=time.time_ns(),
                attributes={**_counted(request), **found, **request.about[""], **said},
            )

    def _count(self, request: Open, usage: dict[str, int]) -> None:
        """The tokens of an answer."""
        counted, kind = _counted(request), self.names["token_type"]
        tokens, cache = self.telemetry.metrics["tokens"], self.telemetry.metrics["cache"]
        tokens.record(usage.get("input", 0), {**counted, kind: "input"})
        tokens.record(usage.get("output", 0), {**counted, kind: "output"})
        for key, word in (("cache_read", "cache_read"), ("cache_write", "cache_creation")):
            if usage.get(key):
                cache.add(usage[key], {**counted, kind: word})

    def _finish_request(self, request: Open, failure: str | None = None) -> None:
        counted = _counted(request)
        if failure is not None:
            counted[self.names["error"]] = failure
            request.span.set_attribute(self.names["error"], failure)
            if failure != "cancelled":
                request.span.set_status(Status(StatusCode.ERROR, failure))
        request.span.end()
        self.telemetry.metrics["request"].record(request.seconds, counted)

    def _raised(self, span: Span, error: BaseException) -> None:
        """What was raised; its words only where content is told."""
        about = {self.names["exception_type"]: type(error).__name__}
        if self.telemetry.tells:
            about[self.names["exception_message"]] = _content.plain(error)
        span.add_event("exception", about)

    def _event(self, request: Open, about: dict[str, Any]) -> None:
        request.span.add_event("exception", about)

    def _asked_content(self, request: Any) -> dict[str, Any]:
        names, said = self.names, json.loads(request.messages.to_json())
        found = {names["input_messages"]: _content.shown(_content.messages(said))}
        if request.system:
            found[names["system_instructions"]] = _content.shown([{"type": "text", "content": request.system}])
        if request.tools:
            found[names["tool_definitions"]] = _content.shown(_content.tools(request.tools))
        return found

    def _prompted(self, said: list[dict[str, Any]]) -> None:
        last = _content.messages(said[-1:])
        self.phases.question = "".join(part.get("content", "") for part in last[0]["parts"])
        if self.root is not None and self.telemetry.content:
            self.root.span.set_attribute(self.names["input_messages"], _content.shown(last))

    def _told(self, root: Open, result: Result[Any] | None) -> None:
        """What a run gave."""
        names = self.names
        if result is None:
            root.span.set_attribute(names["stop_reason"], "cancelled")
            return
        found: dict[str, Any] = {
            names["stop_reason"]: result.stop_reason,
            names["rounds"]: result.rounds,
            names["total_input"]: result.usage.input_tokens,
            names["total_output"]: result.usage.output_tokens,
            names["cost"]: result.known_cost,
        }
        if self.agent._called == "grounded":
            found |= {names["verified"]: bool(result.verified), names["attempts"]: result.attempts}
            found[names["sources"]] = len(result.sources)
        if self.telemetry.content and result.final is not None:
            said = {"role": "assistant", "content": result.final}
            found[names["output_messages"]] = _content.shown(_content.output(said, "stop"))
        root.span.set_attributes(_known(found))


_USAGE = (
    ("input_tokens", "input"),
    ("output_tokens", "output"),
    ("cache_read", "cache_read"),
    ("cache_write", "cache_write"),
    ("reasoning", "reasoning"),
)
"""Names of the table, and of the usage of an answer."""


@functools.cache
def _wanted() -> frozenset[str]:
    """The notices that lead to something, and those of sub-agents, which hold others."""
    from loopwright.events import _WRITTEN

    names = {kind.__name__: name for name, (kind, _) in _WRITTEN.items()}
    heard = [name for kind, name in names.items() if hasattr(RunSpans, f"_on_{kind}") or kind in table()["events"]]
    return frozenset({"child", *heard})


def _counted(request: Open) -> dict[str, Any]:
    return {name: value for name, value in request.about.items() if name}


def _known(found: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if value is not None}


def _redacted(text: str) -> str:
    from loopwright.guard import redact_json

    return redact_json(text)
