"""The agent's own keys by value, in whatever form, on every way out of a run."""

from __future__ import annotations

import base64
import json
import logging
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from loopwright import (
    Agent,
    ContextPolicy,
    Grounded,
    Instrumentation,
    LoopwrightError,
    Model,
    Monitor,
    ProviderError,
    RunContext,
    tool,
)
from loopwright.events import TextDelta, ToolFinished, ToolProgress
from loopwright.guard import redact, redact_json
from loopwright.hooks import audit
from loopwright.journal import trace
from loopwright.roles import Role, Sanity
from loopwright.testing import ScriptedModel, call, recorded
from ways import run

KEY = 'sk-own-4f9c1e8b7d6a5f3e2c1b0a9f/+="q'
FORMS = {
    "plain": KEY,
    "percent": quote(KEY, safe=""),
    "percent of a path": quote(KEY),
    "percent, small": quote(KEY, safe="").replace("%2F", "%2f").replace("%3D", "%3d"),
    "percent, every byte": "".join(f"%{byte:02X}" for byte in KEY.encode()),
    "base64": base64.b64encode(KEY.encode()).decode(),
    "base64 for the web": base64.urlsafe_b64encode(KEY.encode()).decode(),
    "basic": base64.b64encode(f"ada:{KEY}".encode()).decode(),
    "basic, one byte more": base64.b64encode(f"adam:{KEY}".encode()).decode(),
    "hex": KEY.encode().hex(),
    "hex, large": KEY.encode().hex().upper(),
    "json": json.dumps(KEY),
    "json in json": json.dumps(json.dumps(KEY)),
}
SAID = " ; ".join(f"({name}) {form} ." for name, form in FORMS.items())
_SLICE = 16
# What any 16 signs of a form, its first and last aside, would tell.
PARTS = {form[at : at + _SLICE] for form in FORMS.values() for at in range(7, len(form) - _SLICE - 7)}


def leaks(text: str) -> list[str]:
    """Parts of the key that a text holds."""
    return sorted(part for part in PARTS if part in text)


@tool
def fails(context: RunContext[None]) -> str:
    """Fails."""
    context.emit(f"under way: {SAID}")
    try:
        raise KeyError(SAID)
    except KeyError as error:
        raise ConnectionError(f"no way in with {SAID}") from error


@tool(read_only=True)
def tells(part: int) -> dict[str, Any]:
    """Tells."""
    return {"part": part, "header": SAID, "all": list(FORMS.values())}


class Ran:
    """A run whose tools and whose model tell the key, one that its provider refuses, and what came of both."""

    def __init__(self, serve: Callable[..., Any], folder: Path, way: str) -> None:
        summer = serve("Nothing new.", repeat_last=True)
        checker = serve('{"on_track": true}', repeat_last=True)
        main = serve(call("fails"), *(call("tells", part=part) for part in range(4)), f"It is {SAID}")
        lines: list[str] = []
        agent = Agent(
            Model("openai-chat:test", base_url=main.url, api_key=KEY),
            tools=[fails, tells],
            context=ContextPolicy(summarizer=Role("openai-chat:sum", base_url=summer.url, api_key=KEY)),
            monitor=Monitor(sanity=Sanity("openai-chat:check", base_url=checker.url, api_key=KEY)),
            guard=lambda *_: True,
            hooks=[audit(lambda line: lines.append(json.dumps(line)))],
        )
        self.result, self.events = run(agent, "Go.", way, journal=folder / "run.jsonl")
        self.journal = (folder / "run.jsonl").read_text()
        self.audit = "\n".join(lines)
        self.prompts = [request["body"] for server in (summer, checker) for request in server.requests]
        self.requests = [request["body"] for request in main.requests]
        body = json.dumps({"error": {"message": f"wrong key {SAID}", "type": "invalid_request_error"}})
        refusing = serve(recorded(400, "application/json", body), repeat_last=True)
        with pytest.raises(ProviderError) as caught:
            Agent(Model("openai-chat:test", base_url=refusing.url, api_key=KEY)).run_sync(
                "Go.", journal=folder / "no.jsonl"
            )
        self.error = caught.value
        self.refused = (folder / "no.jsonl").read_text()


def spans_of(folder: Path) -> str:
    """What a grounded run whose model tells the key hands to OpenTelemetry, asked to tell all that was said."""
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    instrument = Instrumentation(tracer_provider=provider, content=True)
    (folder / "a.md").write_text(f"# Key\n\nThe key of the house is {SAID}\n")
    grounded = Grounded(ScriptedModel([f"The key is {SAID} [1]"] * 3), sources=folder, instrument=instrument)
    grounded.run_sync("What is the key of the house?")
    spans = exporter.get_finished_spans()
    assert any("The key is" in str(span.attributes) for span in spans), "what was said is told"
    return "".join(span.to_json() for span in spans)


def chain(error: BaseException) -> str:
    return "".join(traceback.format_exception(error)) + repr(vars(error)) + repr(error.args)


WAYS: dict[str, Callable[[Ran], str]] = {
    "events": lambda ran: "\n".join(
        f"{event!r} {vars(event) if hasattr(event, '__dict__') else event}" for event in ran.events
    ),
    "pieces of an answer": lambda ran: "".join(each.text for each in ran.events if isinstance(each, TextDelta)),
    "progress of tools": lambda ran: "".join(each.text for each in ran.events if isinstance(each, ToolProgress)),
    "journal": lambda ran: ran.journal,
    "journal of a refusal": lambda ran: ran.refused,
    "result": lambda ran: f"{ran.result.final} {ran.result.transcript} {ran.result.messages!r} {vars(ran.result)}",
    "messages": lambda ran: "".join(message.text for message in ran.result.messages),
    "requests": lambda ran: json.dumps(ran.requests, ensure_ascii=False),
    "prompts of other roles": lambda ran: json.dumps(ran.prompts, ensure_ascii=False),
    "lines of the audit": lambda ran: ran.audit,
    "trace": lambda ran: repr(trace(ran.journal)),
    "exceptions of tools": lambda ran: "".join(chain(each.error) for each in ran.result.tool_calls if each.error),
    "exceptions in events": lambda ran: "".join(
        chain(each.error) for each in ran.events if isinstance(each, ToolFinished) and each.error
    ),
    "errors": lambda ran: (
        f"{ran.error} {ran.error.message} {ran.error.hint} {chain(ran.error)} {vars(ran.error.result)}"
    ),
}
ONLY_STREAMED = {"events", "pieces of an answer", "progress of tools", "exceptions in events"}


@pytest.mark.parametrize("way", ["run_sync", "stream"])
def test_own_keys_leave_a_run_on_no_way_in_no_form(
    serve: Any, tmp_path: Path, way: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    ran = Ran(serve, tmp_path, way)
    found = {name: show(ran) for name, show in WAYS.items()}
    (tmp_path / "sources").mkdir()
    found["spans"] = spans_of(tmp_path / "sources")
    found["logs"] = caplog.text + "".join(str(vars(record)) for record in caplog.records)
    printed = capfd.readouterr()
    found["printed"] = printed.out + printed.err
    assert {name: leaks(text)[:3] for name, text in found.items() if leaks(text)} == {}
    empty = {name for name, text in found.items() if not text} - {"printed"}
    assert empty == (set() if way == "stream" else ONLY_STREAMED)
    told = {name for name, text in found.items() if "***" in text}
    assert {"journal", "journal of a refusal", "result", "requests", "exceptions of tools", "errors", "logs"} <= told


def test_what_is_left_of_a_run_replays(serve: Any, tmp_path: Path) -> None:
    from loopwright import replay

    ran = Ran(serve, tmp_path, "run_sync")
    again = replay(tmp_path / "run.jsonl")
    assert again.identical and again.outcome["final"] == ran.result.final
    assert "***" in ran.result.final


@pytest.mark.parametrize("form", FORMS)
def test_redaction_knows_own_keys_by_value(form: str) -> None:
    Agent(Model("openai-chat:test", base_url="http://localhost:1", api_key=KEY))
    text = f"before {FORMS[form]} behind"
    assert not leaks(redact(text)) and redact(text).startswith("before ") and redact(text).endswith(" behind")
    line = json.dumps({"said": text})
    assert not leaks(redact_json(line)) and set(json.loads(redact_json(line))) == {"said"}
    error = LoopwrightError(text)
    assert not leaks(str(error) + repr(error))


@pytest.mark.parametrize("form", FORMS)
def test_commands_are_handed_no_variable_that_holds_an_own_key(form: str) -> None:
    from loopwright.tools.builtin._shell import without_secrets

    Agent(Model("openai-chat:test", base_url="http://localhost:1", api_key=KEY))
    assert set(without_secrets({"HARMLESS": f"x {FORMS[form]}", "PATH": "/usr/bin"})) == {"PATH"}


def test_keys_that_are_words_are_left_in_texts(serve: Any) -> None:
    for key in ("ollama", "lm-studio", "sk-no-key-required", "not-needed"):
        server = serve(f"I run on {key}.")
        agent = Agent(Model("openai-chat:test", base_url=server.url, api_key=key))
        assert agent.run_sync("Who are you?").final == f"I run on {key}."


def test_an_exception_without_secrets_is_the_very_one(caplog: pytest.LogCaptureFixture) -> None:
    raised = ConnectionError("no way in")

    @tool
    def breaks() -> str:
        """Breaks."""
        raise raised

    result = Agent(ScriptedModel([call("breaks"), "Done."]), tools=[breaks], guard=lambda *_: True).run_sync("Go.")
    assert result.tool_calls[0].error is raised


def test_an_exception_with_a_key_keeps_its_class_and_its_causes(serve: Any) -> None:
    class Refused(ConnectionError):
        def __init__(self, address: str, status: int) -> None:
            super().__init__(f"{address} says {status}")
            self.address = address
            self.status = status

    @tool
    def breaks() -> str:
        """Breaks."""
        try:
            raise KeyError(KEY)
        except KeyError as error:
            raise Refused(f"https://h/?k={KEY}", 401) from error

    server = serve(call("breaks"), "Done.")
    agent = Agent(Model("openai-chat:test", base_url=server.url, api_key=KEY), tools=[breaks], guard=lambda *_: True)
    error = agent.run_sync("Go.").tool_calls[0].error
    assert isinstance(error, Refused) and error.status == 401 and error.address == "https://h/?k=***"
    assert str(error) == "https://h/?k=*** says 401"
    assert isinstance(error.__cause__, KeyError) and error.__cause__.args == ("***",)
    assert error.__traceback__ is not None
