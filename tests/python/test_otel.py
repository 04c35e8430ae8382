"""Runs as OpenTelemetry sees them: spans, metrics and content, their parents, and what fails on the way."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from loopwright import Agent, Grounded, Instrumentation, LoopwrightError, Message, Model, UsageError, _conventions, tool
from loopwright.models import Response
from loopwright.otel import instrument_all
from loopwright.testing import ScriptedModel, call, fault, text
from opentelemetry import trace
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from test_children import at
from ways import LEFT_BARE

KEY = (
    "sk-ant-api03-"
    + base64.b64encode(hashlib.sha512(b"a key that opens nothing").digest(), b"-_").decode()[:86]
    + "Zq4mT7w"
    + "AA"
)
QUESTION = "How often is a failed request retried?"
GOOD = "A failed request is tried 3 times. [net.md:3]"


class Seen:
    """Providers of a test, and what they were told."""

    def __init__(self) -> None:
        self.exporter, self.reader, self.logs = (
            InMemorySpanExporter(),
            InMemoryMetricReader(),
            InMemoryLogRecordExporter(),
        )
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.meters = MeterProvider(metric_readers=[self.reader])
        self.loggers = LoggerProvider()
        self.loggers.add_log_record_processor(SimpleLogRecordProcessor(self.logs))

    def instrument(self, **options: Any) -> Instrumentation:
        return Instrumentation(self.tracers, self.meters, self.loggers, **options)

    @property
    def spans(self) -> list[ReadableSpan]:
        """In the order in which they began."""
        return sorted(self.exporter.get_finished_spans(), key=lambda span: span.start_time or 0)

    def named(self, beginning: str) -> list[ReadableSpan]:
        return [span for span in self.spans if span.name.startswith(beginning)]

    def tree(self) -> list[str]:
        """Names, each below its parent."""
        spans, lines = self.spans, []

        def grow(parent: int | None, depth: int) -> None:
            for span in spans:
                if (span.parent.span_id if span.parent else None) == parent:
                    lines.append("  " * depth + span.name)
                    grow(span.context.span_id, depth + 1)

        grow(None, 0)
        return lines

    def metrics(self) -> dict[str, list[Any]]:
        data = self.reader.get_metrics_data()
        found = [] if data is None else data.resource_metrics
        return {
            metric.name: list(metric.data.data_points)
            for resource in found
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }


@pytest.fixture
def seen() -> Iterator[Seen]:
    found = Seen()
    yield found
    instrument_all(False)
    found.tracers.shutdown()
    found.meters.shutdown()
    found.loggers.shutdown()


@tool(read_only=True)
def look(key: str) -> str:
    """Looks something up."""
    return f"the value of {key}"


@tool(read_only=True)
def broken(key: str) -> str:
    """Never works."""
    raise KeyError(key)


def about(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def ran(agent: Any, way: str, prompt: str = "Go.") -> Any:
    if way == "run_sync":
        return agent.run_sync(prompt)
    if way == "run":
        return asyncio.run(agent.run(prompt))

    async def streamed() -> Any:
        stream = agent.stream(prompt)
        async for _ in stream:
            pass
        return stream.result

    return asyncio.run(streamed())


# ---- spans ----


def test_a_run_is_a_tree_of_spans(seen: Seen, way: str) -> None:
    model = ScriptedModel([call("look", key="a"), "done"])
    result = ran(Agent(model, tools=[look], name="helper", instrument=seen.instrument()), way)
    assert result.final == "done"
    assert seen.tree() == ["invoke_agent helper", "  chat scripted", "  execute_tool look", "  chat scripted"]
    root, chat, looked, _ = seen.spans
    assert about(root)["gen_ai.operation.name"] == "invoke_agent"
    assert about(root)["loopwright.run.id"] == result.run_id and about(root)["loopwright.stop_reason"] == "natural"
    assert chat.kind is SpanKind.CLIENT and about(chat)["gen_ai.response.finish_reasons"] == ("tool_call",)
    assert about(chat)["gen_ai.request.stream"] is (way == "stream")
    assert about(looked)["gen_ai.tool.name"] == "look" and about(looked)["gen_ai.tool.call.id"] == "call_0_0"
    assert about(looked)["loopwright.guard.verdict"] == "allow"
    assert all(span.status.status_code is StatusCode.UNSET for span in seen.spans)
    assert all(any(name.startswith("gen_ai.") for name in about(span)) for span in seen.spans)


def test_what_a_provider_says_of_an_answer(seen: Seen, serve: Any, way: str) -> None:
    server = serve("hello")
    agent = Agent(
        Model("anthropic:claude-sonnet-4-5", base_url=server.url, api_key="k"),
        settings={"temperature": 0.5},
        instrument=seen.instrument(),
    )
    ran(agent, way)
    chat = about(seen.named("chat claude-sonnet-4-5")[0])
    assert chat["gen_ai.provider.name"] == "anthropic" and chat["gen_ai.request.temperature"] == 0.5
    assert chat["server.address"] == "127.0.0.1" and chat["server.port"] == int(server.url.rsplit(":", 1)[1])
    assert chat["gen_ai.usage.input_tokens"] > 0 and chat["gen_ai.usage.output_tokens"] > 0
    assert chat["gen_ai.response.finish_reasons"] == ("stop",) and chat["gen_ai.response.id"]
    assert ("gen_ai.response.time_to_first_chunk" in chat) is (way == "stream")


def test_retries_are_spans_between_requests(seen: Seen, serve: Any, way: str) -> None:
    server = serve(fault.status(529), "hello")
    agent = Agent(
        Model("anthropic:claude-sonnet-4-5", base_url=server.url, api_key="k", retry={"base": 0.01}),
        instrument=seen.instrument(),
    )
    ran(agent, way)
    assert [line.strip().partition(" ")[0] for line in seen.tree()] == ["invoke_agent", "chat", "retry", "chat"]
    first, second = seen.named("chat")
    assert about(first)["error.type"] == "overloaded" and first.status.status_code is StatusCode.ERROR
    assert (about(first)["loopwright.attempt"], about(second)["loopwright.attempt"]) == (1, 2)
    waited = seen.named("retry")[0]
    assert first.end_time <= waited.start_time <= waited.end_time <= second.start_time
    retries = seen.metrics()["loopwright.client.retries"]
    assert [(point.value, point.attributes["error.type"]) for point in retries] == [(1, "overloaded")]


def test_a_tool_that_raises_is_an_error_with_its_type(seen: Seen, way: str, caplog: pytest.LogCaptureFixture) -> None:
    model = ScriptedModel([call("broken", key=KEY), "done"])
    ran(Agent(model, tools=[broken], instrument=seen.instrument()), way)
    failed = seen.named("execute_tool broken")[0]
    assert about(failed)["error.type"] == "KeyError" and failed.status.status_code is StatusCode.ERROR
    assert [(event.name, dict(event.attributes or {})) for event in failed.events] == [
        ("exception", {"exception.type": "KeyError"})
    ]
    logged = [record for record in caplog.records if record.name == "loopwright.tool"]
    assert logged[0].exc_info is not None and logged[0].levelno == logging.WARNING, "its traceback is in the log"
    assert KEY not in "".join(span.to_json() for span in seen.spans)


def test_what_somebody_is_asked_is_a_span(seen: Seen, way: str) -> None:
    @tool(risk="dangerous")
    def wipe() -> str:
        """Wipes."""
        return "gone"

    model = ScriptedModel([call("wipe"), "done"])
    ran(Agent(model, tools=[wipe], guard=lambda approval: "not now", instrument=seen.instrument(content=True)), way)
    asked = seen.named("approval wipe")[0]
    assert about(asked)["loopwright.approval.allowed"] is False and about(asked)["gen_ai.tool.name"] == "wipe"
    assert about(asked)["loopwright.approval.reason"] == "not now"


def test_sub_agents_are_below_the_call_that_started_them(seen: Seen, serve: Any, way: str) -> None:
    parent, child = serve(call("spawn", agent="explore", task="find it"), "found"), serve(call("look", key="z"), "here")
    agent = Agent(
        Model("anthropic:claude-sonnet-4-5", base_url=parent.url, api_key="k"),
        name="lead",
        agents=[at(child, tools=[look])],
        instrument=seen.instrument(),
    )
    assert ran(agent, way).final == "found"
    tree = [line.replace(line.strip(), "chat") if line.strip().startswith("chat") else line for line in seen.tree()]
    assert tree == [
        "invoke_agent lead",
        "  chat",
        "  execute_tool spawn",
        "    invoke_agent explore",
        "      chat",
        "      execute_tool look",
        "      chat",
        "  chat",
    ]
    explore = about(seen.named("invoke_agent explore")[0])
    assert explore["loopwright.agent.path"] == "explore" and explore["loopwright.rounds"] == 2


def test_agents_that_tools_call_are_below_the_tool(seen: Seen, way: str) -> None:
    inner = Agent(ScriptedModel(["inner"]), name="inner", instrument=seen.instrument())

    @tool(read_only=True)
    def ask() -> str:
        """Asks another agent."""
        return str(inner.run_sync("Go.").final)

    ran(Agent(ScriptedModel([call("ask"), "done"]), tools=[ask], name="outer", instrument=seen.instrument()), way)
    assert seen.tree() == [
        "invoke_agent outer",
        "  chat scripted",
        "  execute_tool ask",
        "    invoke_agent inner",
        "      chat scripted",
        "  chat scripted",
    ]


def test_compaction_is_a_span(seen: Seen) -> None:
    said = [
        Message.user("word " * 900) if n % 2 == 0 else Message("assistant", [{"type": "text", "text": "yes " * 900}])
        for n in range(8)
    ]
    agent = Agent(ScriptedModel(["done"]), context=3000, instrument=seen.instrument())
    agent.run_sync("Go.", messages=said)
    compacted = about(seen.named("compact")[0])
    assert compacted["loopwright.compaction.reason"] == "full"
    assert compacted["loopwright.compaction.tokens_before"] > compacted["loopwright.compaction.tokens_after"]


# ---- phases ----


@pytest.mark.parametrize("content", [False, True])
def test_e21_the_phases_of_a_grounded_answer_have_the_names_and_data_of_the_design(
    seen: Seen, docs: Path, content: bool
) -> None:
    bad = "A failed request is tried 9 times. [net.md:3]"
    grounded = Grounded(ScriptedModel([bad, GOOD]), sources=docs, instrument=seen.instrument(content=content))
    grounded.run_sync(QUESTION)
    named = [line for line in seen.tree() if "chat" not in line]
    assert named == [
        "invoke_agent grounded",
        "  phase-gather",
        "  phase-act",
        "  phase-verify",
        "  phase-act",
        "  phase-verify",
    ]
    told = [(json.loads(about(span)["input"]), json.loads(about(span)["output"])) for span in seen.named("phase-")]
    gathered, acted, verified, again, passed = told
    assert set(gathered[0]) == ({"userInput", "attempt"} if content else {"attempt"})
    assert set(gathered[1]) == {"threadContextCount", "fileContextCount", "sourcesFound"}
    assert acted[0]["contextSize"] == gathered[1]["sourcesFound"] and acted[1]["responseLength"] == len(bad)
    assert set(verified[0]) == {"responseLength", "attempt"} and verified[1]["passed"] is False
    assert again[0].get("verificationFeedback", "the number 9" if not content else "") and again[0]["attempt"] == 2
    assert passed[1]["passed"] is True
    everything = "".join(span.to_json() for span in seen.spans)
    assert (QUESTION in everything) is content and ("the number 9" in everything) is content


def test_e21_the_streaming_of_a_grounded_answer_is_a_span(seen: Seen, docs: Path, serve: Any) -> None:
    server = serve(GOOD)
    grounded = Grounded(
        Model("anthropic:claude-sonnet-4-5", base_url=server.url, api_key="k"),
        sources=docs,
        instrument=seen.instrument(),
    )
    asyncio.run(grounded.run(QUESTION, on_event=lambda event: None))
    streamed = seen.named("response-streaming")[0]
    assert streamed.parent.span_id == seen.named("invoke_agent")[0].context.span_id
    assert about(streamed)["loopwright.attempt"] == 1 and streamed.end_time > streamed.start_time


def test_researches_have_phases(seen: Seen) -> None:
    from loopwright import Research

    corpus = {"a.md": "The Velm pump was built in 1950 by Otto Brand in Oslo.\n" * 3}
    research = Research("offline:extractive", corpus=corpus, instrument=seen.instrument())
    research.run_sync("Who built the Velm pump?")
    assert seen.named("invoke_agent research") and seen.named("phase-")


# ---- whose spans they are ----


def test_the_span_that_is_current_is_the_parent(seen: Seen, way: str) -> None:
    agent = Agent(ScriptedModel(["done"]), name="a", instrument=seen.instrument())
    with seen.tracers.get_tracer("test").start_as_current_span("request"):
        ran(agent, way)
        assert trace.get_current_span().get_span_context().is_valid
    assert seen.tree() == ["request", "  invoke_agent a", "    chat scripted"]


def test_traces_come_in_and_go_out_by_headers_and_meta(seen: Seen, way: str) -> None:
    from loopwright.otel import from_headers, from_meta, to_headers, to_meta

    told: list[dict[str, Any]] = []

    @tool(read_only=True)
    def call_out() -> str:
        """Asks somebody else."""
        told.append(to_headers({"accept": "x"}))
        told.append(to_meta({"progressToken": 1}))
        return "ok"

    agent = Agent(ScriptedModel([call("call_out"), "a", "b"]), tools=[call_out], instrument=seen.instrument())
    with from_headers({"TraceParent": f"00-{'a' * 32}-{'b' * 16}-01"}):
        ran(agent, way)
    assert {span.context.trace_id for span in seen.spans} == {int("a" * 32, 16)}
    assert seen.named("invoke_agent")[0].parent.span_id == int("b" * 16, 16)
    within = seen.named("execute_tool call_out")[0].context
    for carrier in told:
        assert carrier["traceparent"] == f"00-{within.trace_id:032x}-{within.span_id:016x}-01"
    assert told[0]["accept"] == "x" and told[1]["progressToken"] == 1
    seen.exporter.clear()
    with from_meta({"traceparent": f"00-{'c' * 32}-{'d' * 16}-01", "progressToken": 3}):
        ran(agent, way)
    assert {span.context.trace_id for span in seen.spans} == {int("c" * 32, 16)}
    for unreadable in ({}, {"traceparent": "nonsense"}, {"traceparent": f"00-{'0' * 32}-{'0' * 16}-01"}):
        with from_headers(unreadable):
            assert not trace.get_current_span().get_span_context().is_valid


def test_a_model_of_ones_own_is_asked_within_its_span(seen: Seen, way: str) -> None:
    inside: list[int] = []

    class Own:
        name = "own"

        async def respond(self, request: Any) -> str:
            await asyncio.sleep(0)
            inside.append(trace.get_current_span().get_span_context().span_id)
            return "done"

    ran(Agent(Own(), instrument=seen.instrument()), way)
    assert inside == [seen.named("chat own")[0].context.span_id]


def test_a_hundred_runs_at_once_keep_their_spans_apart(seen: Seen) -> None:
    @tool(read_only=True)
    async def nested(key: str) -> str:
        """Makes a span of its own."""
        with seen.tracers.get_tracer("test").start_as_current_span(f"inner {key}"):
            await asyncio.sleep(0.001)
        return key

    model = ScriptedModel([call("nested", key="k"), "done"], by_turn=True)
    agent = Agent(model, tools=[nested], instrument=seen.instrument())

    async def every() -> list[Any]:
        return await asyncio.gather(*(agent.run(f"Run {n}.") for n in range(100)))

    results = asyncio.run(every())
    by_trace: dict[int, list[ReadableSpan]] = {}
    for span in seen.spans:
        by_trace.setdefault(span.context.trace_id, []).append(span)
    assert len(by_trace) == 100
    names = ["chat scripted", "chat scripted", "execute_tool nested", "inner k", "invoke_agent"]
    for spans in by_trace.values():
        assert sorted(span.name for span in spans) == names
        root, looked = (next(each for each in spans if each.name.startswith(name)) for name in ("invoke", "execute"))
        inner = next(each for each in spans if each.name == "inner k")
        assert inner.parent.span_id == looked.context.span_id and looked.parent.span_id == root.context.span_id
    roots = {about(span)["loopwright.run.id"] for span in seen.named("invoke_agent")}
    assert roots == {result.run_id for result in results}


# ---- ends ----


def test_a_run_that_is_cancelled_ends_its_spans(seen: Seen) -> None:
    @tool(read_only=True)
    async def hang() -> str:
        """Never ends."""
        await asyncio.sleep(60)
        return "?"

    agent = Agent(ScriptedModel([call("hang"), "done"]), tools=[hang], instrument=seen.instrument())

    async def cancelled() -> None:
        run = asyncio.ensure_future(agent.run("Go."))
        await asyncio.sleep(0.1)
        run.cancel()
        await asyncio.wait([run])

    asyncio.run(cancelled())
    assert sorted(seen.tree()) == ["  chat scripted", "  execute_tool hang", "invoke_agent"]
    root = seen.named("invoke_agent")[0]
    assert about(root)["loopwright.stop_reason"] == "cancelled" and root.status.status_code is StatusCode.UNSET


@LEFT_BARE
@pytest.mark.parametrize("how", ["break", "aclose", "dropped"])
def test_a_stream_that_is_left_early_ends_its_spans(seen: Seen, serve: Any, how: str) -> None:
    server = serve(text("one two three four five six").slowly(0.3))
    agent = Agent(Model("anthropic:claude-sonnet-4-5", base_url=server.url, api_key="k"), instrument=seen.instrument())

    async def left() -> None:
        stream = agent.stream("Go.")
        async for _ in stream:
            break
        if how == "aclose":
            await stream.aclose()
        if how == "dropped":
            del stream
        await asyncio.sleep(0.3)

    asyncio.run(left())
    assert [line.strip().partition(" ")[0] for line in seen.tree()] in (["invoke_agent", "chat"], ["invoke_agent"])
    assert about(seen.spans[0])["loopwright.stop_reason"] in ("cancelled", "user_interrupt")


def test_a_run_that_fails_says_why(seen: Seen, serve: Any, way: str) -> None:
    server = serve(fault.status(401))
    agent = Agent(Model("anthropic:claude-sonnet-4-5", base_url=server.url, api_key="k"), instrument=seen.instrument())
    with pytest.raises(LoopwrightError) as caught:
        ran(agent, way)
    root, chat = seen.spans
    assert about(root)["error.type"] == caught.value.code and root.status.status_code is StatusCode.ERROR
    assert about(chat)["error.type"] and chat.status.status_code is StatusCode.ERROR


def test_a_model_that_raises_breaks_off_with_ended_spans(seen: Seen, way: str) -> None:
    agent = Agent(ScriptedModel([ZeroDivisionError("x")]), instrument=seen.instrument())
    with pytest.raises(ZeroDivisionError):
        ran(agent, way)
    assert seen.tree() == ["invoke_agent", "  chat scripted"]
    assert about(seen.spans[0])["error.type"] == "ZeroDivisionError"


def test_all_attempts_of_a_typed_answer_are_one_run(seen: Seen, way: str) -> None:
    agent: Any = Agent(ScriptedModel(["no number", "7"]), output_type=int, instrument=seen.instrument())
    assert ran(agent, way).output == 7
    assert seen.tree() == ["invoke_agent", "  chat scripted", "  chat scripted"]


class Raises(SpanExporter):
    def export(self, spans: Any) -> Any:
        raise RuntimeError("no exporter")

    def shutdown(self) -> None: ...


class BadProcessor(SimpleSpanProcessor):
    def on_end(self, span: Any) -> None:
        raise RuntimeError("no processor")


def test_a_run_is_not_lost_by_what_watches_it(seen: Seen, way: str, caplog: pytest.LogCaptureFixture) -> None:
    seen.tracers.add_span_processor(SimpleSpanProcessor(Raises()))
    agent = Agent(ScriptedModel([call("look", key="a"), "done"]), tools=[look], instrument=seen.instrument())
    assert ran(agent, way).final == "done"
    assert len(seen.spans) == 4
    tracers = TracerProvider()
    tracers.add_span_processor(BadProcessor(InMemorySpanExporter()))
    agent = Agent(
        ScriptedModel([call("look", key="a"), "done"]), tools=[look], instrument=Instrumentation(tracers, seen.meters)
    )
    assert ran(agent, way).final == "done"
    assert [record.name for record in caplog.records].count("loopwright.otel") == 1, "it is said once a run"

    class BadProvider:
        def get_tracer(self, *_: Any, **__: Any) -> Any:
            raise RuntimeError("no tracer")

    agent = Agent(ScriptedModel(["done"]), instrument=Instrumentation(BadProvider()))
    assert ran(agent, way).final == "done"


def test_a_provider_that_is_shut_down_takes_no_run_along(seen: Seen, way: str) -> None:
    seen.tracers.shutdown()
    agent = Agent(ScriptedModel(["done"]), instrument=Instrumentation(seen.tracers))
    assert ran(agent, way).final == "done"
    assert seen.spans == []


# ---- metrics ----


def test_metrics_count_tokens_times_and_the_cache(seen: Seen, serve: Any) -> None:
    server = serve("hello there")
    agent = Agent(Model("anthropic:claude-sonnet-4-5", base_url=server.url, api_key="k"), instrument=seen.instrument())
    result = asyncio.run(agent.run("Go.", on_event=lambda event: None))
    found = seen.metrics()
    tokens = {dict(point.attributes)["gen_ai.token.type"]: point.sum for point in found["gen_ai.client.token.usage"]}
    assert tokens == {"input": result.usage.input_tokens, "output": result.usage.output_tokens}
    for name in ("operation.duration", "operation.time_to_first_chunk"):
        point = found[f"gen_ai.client.{name}"][0]
        assert point.count == 1 and 0 < point.sum < 10
        assert dict(point.attributes)["gen_ai.provider.name"] == "anthropic"
    assert found["gen_ai.invoke_agent.duration"][0].count == 1


def test_metrics_count_what_a_cache_gave(seen: Seen) -> None:
    class Own:
        name = "own"

        def respond(self, request: Any) -> dict[str, Any]:
            usage = {"input": 9, "output": 1, "cache_read": 5, "cache_write": 3}
            return {**Response("hi").to_dict(), "usage": usage}

    Agent(Own(), instrument=seen.instrument()).run_sync("Go.")
    chat = about(seen.named("chat")[0])
    assert chat["gen_ai.usage.cache_read.input_tokens"] == 5 and chat["gen_ai.usage.cache_creation.input_tokens"] == 3
    points = seen.metrics()["loopwright.client.cache.tokens"]
    assert {dict(point.attributes)["gen_ai.token.type"]: point.value for point in points} == {
        "cache_read": 5,
        "cache_creation": 3,
    }


# ---- content ----


def test_nothing_that_was_said_is_told_unless_asked(seen: Seen, way: str) -> None:
    model = ScriptedModel([call("look", key="needle"), "the answer needle"])
    ran(Agent(model, tools=[look], instructions="needle", instrument=seen.instrument()), way, "needle?")
    assert "needle" not in "".join(span.to_json() for span in seen.spans)
    assert seen.logs.get_finished_logs() == ()


def test_what_was_said_is_told_by_the_conventions_and_redacted(seen: Seen, way: str) -> None:
    model = ScriptedModel([call("look", key=KEY), f"it is {KEY}"])
    agent = Agent(model, tools=[look], instructions=f"Keep {KEY}.", instrument=seen.instrument(content=True))
    ran(agent, way, f"My key is {KEY}.")
    _, first, looked, second = seen.spans
    asked = json.loads(about(second)["gen_ai.input.messages"])
    assert [message["role"] for message in asked] == ["user", "assistant", "tool"]
    assert [part["type"] for message in asked for part in message["parts"]] == [
        "text",
        "tool_call",
        "tool_call_response",
    ]
    answered = json.loads(about(second)["gen_ai.output.messages"])
    assert answered[0]["finish_reason"] == "stop" and answered[0]["parts"][0]["content"].startswith("it is ")
    assert json.loads(about(first)["gen_ai.system_instructions"])[0]["content"].startswith("Keep ")
    assert json.loads(about(first)["gen_ai.tool.definitions"])[0]["name"] == "look"
    assert "key" in json.loads(about(looked)["gen_ai.tool.call.arguments"])
    assert about(looked)["gen_ai.tool.call.result"].startswith("the value of")
    assert KEY not in "".join(span.to_json() for span in seen.spans)


def test_what_was_said_can_be_told_as_events(seen: Seen, way: str) -> None:
    model = ScriptedModel([f"it is {KEY}"])
    ran(Agent(model, instrument=seen.instrument(content="events")), way, f"My key is {KEY}.")
    records = [each.log_record for each in seen.logs.get_finished_logs()]
    assert [record.event_name for record in records] == ["gen_ai.client.inference.operation.details"]
    assert records[0].span_id == seen.named("chat")[0].context.span_id
    attributes = dict(records[0].attributes or {})
    assert "My key is" in attributes["gen_ai.input.messages"] and "it is" in attributes["gen_ai.output.messages"]
    assert KEY not in str(attributes)
    assert "gen_ai.input.messages" not in about(seen.named("chat")[0])


# ---- names ----


def test_all_names_of_the_conventions_are_names_of_the_conventions() -> None:
    from opentelemetry.semconv._incubating.attributes import error_attributes, gen_ai_attributes, server_attributes
    from opentelemetry.semconv._incubating.metrics import gen_ai_metrics
    from opentelemetry.semconv.schemas import Schemas

    known = {
        value
        for module in (gen_ai_attributes, error_attributes, server_attributes, gen_ai_metrics)
        for value in vars(module).values()
        if isinstance(value, str)
    }
    table = _conventions.table()
    used = {*table["attributes"].values(), *(name for each in table["older"].values() for name in each.values())}
    used |= {each["name"] for each in table["metrics"].values()}
    later = {"gen_ai.invoke_agent.duration", "gen_ai.execute_tool.duration"}
    assert {name for name in used if name.startswith(("gen_ai.", "error.", "server."))} - known == later
    assert table["schema_url"] == list(Schemas)[-1].value
    operations = {each.value for each in gen_ai_attributes.GenAiOperationNameValues}
    assert set(table["operations"].values()) <= operations
    providers = {each.value for each in gen_ai_attributes.GenAiProviderNameValues}
    assert set(table["providers"].values()) <= providers


@pytest.mark.parametrize(
    ("names", "bears"),
    [
        ("latest", {"gen_ai.provider.name", "gen_ai.usage.input_tokens"}),
        ("1.36.0", {"gen_ai.system", "gen_ai.usage.input_tokens"}),
        ("1.26.0", {"gen_ai.system", "gen_ai.usage.prompt_tokens", "gen_ai.usage.completion_tokens"}),
    ],
)
def test_older_names_on_demand(seen: Seen, names: str, bears: set[str]) -> None:
    Agent(ScriptedModel(["done"]), instrument=seen.instrument(names=names)).run_sync("Go.")
    chat = set(about(seen.named("chat")[0]))
    both = {"gen_ai.provider.name", "gen_ai.system", "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"}
    assert bears <= chat and not (both - bears) & chat


@pytest.mark.parametrize("before", [150, 176, 184, 190, 195, 198])
def test_a_key_that_an_excerpt_cuts_is_not_told_in_part(seen: Seen, before: int) -> None:
    @tool
    def long() -> str:
        """Gives a long text."""
        return "word " * (before // 5) + "x" * (before % 5) + f" {KEY} and more" * 9

    agent = Agent(ScriptedModel([call("long"), "done"]), tools=[long], instrument=seen.instrument(content=True))
    agent.run_sync("go")
    told = about(seen.named("execute_tool long")[0])["gen_ai.tool.call.result"]
    assert told.startswith("word word")
    assert KEY[:14] not in told


def test_langfuse_reads_what_spans_bear(seen: Seen, way: str) -> None:
    # What its public reader looks at (`OtelIngestionProcessor.ts`, `ObservationTypeMapper.ts`), as of 2026-11.
    kinds = {"chat": "GENERATION", "invoke_agent": "AGENT", "execute_tool": "TOOL"}
    model = ScriptedModel([call("look", key="a"), "done"])
    agent = Agent(model, tools=[look], settings={"max_tokens": 99}, instrument=seen.instrument(content=True))
    result = ran(agent, way)
    for span in seen.spans:
        found = about(span)
        assert kinds[found["gen_ai.operation.name"]]
        if found["gen_ai.operation.name"] == "chat":
            assert found["gen_ai.request.model"] == "scripted" and found["gen_ai.request.max_tokens"] == 99
            usage = {name: value for name, value in found.items() if name.startswith("gen_ai.usage.")}
            assert set(usage) == {"gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"}
        else:
            # What is counted twice is paid twice.
            assert not any(name.startswith("gen_ai.usage.") for name in found)
        if found["gen_ai.operation.name"] == "execute_tool":
            assert found["gen_ai.tool.call.arguments"] and found["gen_ai.tool.call.result"]
        else:
            assert found["gen_ai.input.messages"] and found["gen_ai.output.messages"]
    assert about(seen.spans[0])["gen_ai.conversation.id"] == result.run_id, "its session"


# ---- switches ----


def test_instrument_all_holds_for_those_that_say_nothing(seen: Seen) -> None:
    quiet, never = Agent(ScriptedModel(["a", "b", "c"])), Agent(ScriptedModel(["a"]), instrument=False)
    quiet.run_sync("Go.")
    assert seen.spans == []
    instrument_all(seen.instrument())
    quiet.run_sync("Go.")
    never.run_sync("Go.")
    assert seen.tree() == ["invoke_agent", "  chat scripted"]
    instrument_all(False)
    quiet.run_sync("Go.")
    assert len(seen.spans) == 2


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Agent(ScriptedModel(["a"]), instrument="yes"),  # type: ignore[arg-type]
        lambda: instrument_all(3),  # type: ignore[arg-type]
        lambda: Instrumentation(content="all"),  # type: ignore[arg-type]
        lambda: Instrumentation(names="0.1"),
        lambda: Instrumentation(tracer_provider=object()),
    ],
)
def test_wrong_options_say_what_to_give(wrong: Any) -> None:
    with pytest.raises(UsageError) as caught:
        wrong()
    assert caught.value.code == "invalid_option" and caught.value.hint


def apart(code: str) -> str:
    """What a new process prints."""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_without_opentelemetry_it_is_said_what_to_install() -> None:
    hidden = "import sys; sys.modules['opentelemetry'] = None\nfrom loopwright import Agent\nfrom loopwright.otel import instrument_all\n"
    for code in (
        "instrument_all()",
        "Agent('offline:extractive', instrument=True)",
        "from loopwright.otel import to_headers",
    ):
        said = apart(f"{hidden}{code}")
        assert "pip install 'loopwright[otel]'" in said and "UsageError" in said, code
    assert apart(f"{hidden}print(Agent('offline:extractive').run_sync('hi').stop_reason)").strip()


def test_events_need_a_version_that_has_them() -> None:
    code = (
        "import opentelemetry._logs as logs\nlogs.Logger.emit = lambda self, record: None\n"
        "from loopwright import Instrumentation, UsageError\nfrom loopwright.otel import instrument_all\ninstrument_all()\n"
        "try:\n    instrument_all(Instrumentation(content='events'))\n"
        "except UsageError as error:\n    print(error.code, error.hint)"
    )
    assert apart(code).startswith("wrong_version pip install --upgrade opentelemetry-sdk")


def test_a_log_that_fails_loses_no_span(seen: Seen, way: str, caplog: pytest.LogCaptureFixture) -> None:
    class BadLogger:
        def emit(self, **_: Any) -> None:
            raise RuntimeError("no log")

    class BadLoggers:
        def get_logger(self, *_: Any, **__: Any) -> Any:
            return BadLogger()

    instrument = Instrumentation(seen.tracers, logger_provider=BadLoggers(), content="events")
    assert ran(Agent(ScriptedModel(["done"]), instrument=instrument), way).final == "done"
    assert seen.tree() == ["invoke_agent", "  chat scripted"]
    assert [record.name for record in caplog.records] == ["loopwright.otel"]


def test_runs_in_threads_keep_their_spans_apart(seen: Seen) -> None:
    model = ScriptedModel([call("look", key="k"), "done"], by_turn=True)
    agent = Agent(model, tools=[look], instrument=seen.instrument())
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda n: agent.run_sync(f"Run {n}."), range(40)))
    traces: dict[int, list[str]] = {}
    for span in seen.spans:
        traces.setdefault(span.context.trace_id, []).append(span.name)
    assert len(traces) == len({result.run_id for result in results}) == 40
    assert {tuple(sorted(names)) for names in traces.values()} == {
        ("chat scripted", "chat scripted", "execute_tool look", "invoke_agent")
    }


def test_another_version_of_opentelemetry_is_refused() -> None:
    code = (
        "import importlib.metadata as m\nm.version = lambda name: '1.4.1'\n"
        "from loopwright import UsageError\nfrom loopwright.otel import instrument_all\n"
        "try:\n    instrument_all()\nexcept UsageError as error:\n    print(error.code, error)"
    )
    assert apart(code).startswith("wrong_version tracing needs opentelemetry-api 1.20 or newer, and 1.4 is installed")


def test_whoever_does_not_trace_loads_nothing_of_opentelemetry() -> None:
    code = (
        "import sys, loopwright\nfrom loopwright import Agent, Instrumentation\nfrom loopwright.otel import instrument_all\n"
        "from loopwright.testing import ScriptedModel\nAgent(ScriptedModel(['a'])).run_sync('Go.')\nInstrumentation()\n"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    assert apart(code).strip() == "[]"


def test_a_run_that_is_not_traced_has_nobody_who_hears() -> None:
    from loopwright._instrument import observing

    assert observing(Agent(ScriptedModel(["a"]))) is None
