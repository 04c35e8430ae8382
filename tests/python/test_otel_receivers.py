"""Spans that go over OTLP to receivers: a server of the protocol itself, and Phoenix where one runs."""

from __future__ import annotations

import gzip
import json
import os
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from loopwright import Agent, Instrumentation, tool
from loopwright.testing import ScriptedModel, call
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor


@tool(read_only=True)
def look(key: str) -> str:
    """Looks something up."""
    return f"the value of {key}"


class Receiver:
    """A server that takes OTLP over HTTP, as collectors do."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.resources: list[Any] = []
        received = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                if self.headers.get("content-encoding") == "gzip":
                    body = gzip.decompress(body)
                for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                    received.resources.append(resource)
                    for scope in resource.scope_spans:
                        assert scope.scope.name == "loopwright" and scope.schema_url
                        received.spans.extend(scope.spans)
                self.send_response(200)
                self.send_header("content-type", "application/x-protobuf")
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1/traces"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def over_otlp(url: str) -> None:
    """A run whose spans go to a receiver by the SDK's own exporter."""
    tracers = TracerProvider()
    tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(url)))
    model = ScriptedModel([call("look", key="a"), "done"])
    Agent(model, tools=[look], name="helper", instrument=Instrumentation(tracers, content=True)).run_sync("Go.")
    tracers.shutdown()


def test_spans_come_to_a_receiver_over_otlp() -> None:
    receiver = Receiver()
    try:
        over_otlp(receiver.url)
    finally:
        receiver.stop()
    names = sorted(span.name for span in receiver.spans)
    assert names == ["chat scripted", "chat scripted", "execute_tool look", "invoke_agent helper"]
    root = next(span for span in receiver.spans if span.name == "invoke_agent helper")
    assert all(span.parent_span_id == root.span_id for span in receiver.spans if span is not root)
    told = {each.key: each.value for span in receiver.spans for each in span.attributes}
    assert told["gen_ai.usage.input_tokens"].HasField("int_value")
    assert told["gen_ai.response.finish_reasons"].array_value.values[0].string_value in ("stop", "tool_call")


@pytest.mark.skipif("PHOENIX" not in os.environ, reason="PHOENIX names the address of no running Phoenix")
def test_spans_come_to_phoenix() -> None:
    address = os.environ["PHOENIX"]
    over_otlp(f"{address}/v1/traces")
    names: set[str] = set()
    for _ in range(50):
        with urllib.request.urlopen(f"{address}/v1/projects/default/spans?limit=100") as answer:  # noqa: S310
            names = {span["name"] for span in json.load(answer)["data"]}
        if "invoke_agent helper" in names:
            break
        time.sleep(0.2)
    assert {"invoke_agent helper", "chat scripted", "execute_tool look"} <= names
