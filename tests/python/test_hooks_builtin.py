"""The hooks that come with the package."""

from __future__ import annotations

import base64
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from loopwright import LoopwrightError, Monitor, tool
from loopwright.hooks import HookError, audit, capture_output, content_safety, cost, loop_detection
from loopwright.hooks._reflect import drain
from loopwright.messages import Image, Text
from loopwright.models import Call, Response
from loopwright.testing import WireServer, call, calls, response, text
from ways import agent_at, run

Serve = Callable[..., WireServer]

SECRET = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"


@tool
def read(path: str) -> str:
    """Read a file."""
    return f"token = {SECRET} of grace" if path == "secret" else f"content of {path}"


def test_d04_audit_writes_a_line_for_each_stage_without_secrets(
    serve: Serve, wire: str, way: str, tmp_path: Path
) -> None:
    path = tmp_path / "the audit.jsonl"
    server = serve(call("read", path="secret"), text(f"it says {SECRET}"))
    result, _ = run(agent_at(server, wire, tools=[read], hooks=audit(path)), f"my key is {SECRET}", way)
    assert drain()
    assert result.final == f"it says {SECRET}"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    stages = [line["stage"] for line in lines]
    assert stages[:5] == ["pre_assess", "post_assess", "pre_reason", "pre_llm", "post_llm"]
    assert stages[-2:] == ["pre_reflect", "post_reflect"]
    assert {line["run"] for line in lines} == {result.run_id}
    called = next(line for line in lines if line["stage"] == "pre_tool")
    assert (called["name"], called["arguments"], called["round"]) == ("read", {"path": "secret"}, 1)
    assert SECRET not in path.read_text()
    assert "[redacted:" in path.read_text()
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


def test_d04_audit_adds_to_a_file_and_to_a_function(serve: Serve, tmp_path: Path) -> None:
    path, seen = tmp_path / "a.jsonl", list[dict[str, Any]]()
    for _ in range(2):
        hooks = [audit(path, stages=["post_output"]), audit(seen.append, stages=["post_output"])]
        agent_at(serve("done"), hooks=hooks).run_sync("go")
    assert [json.loads(line)["text"] for line in path.read_text().splitlines()] == ["done", "done"]
    assert [line["stop_reason"] for line in seen] == ["natural", "natural"]
    with pytest.raises(LoopwrightError) as caught:
        audit(tmp_path / "no" / "such" / "folder.jsonl")
    assert caught.value.code == "audit_file"


def test_d04_audit_cuts_no_secret_in_two(serve: Serve) -> None:
    seen: list[dict[str, Any]] = []
    hooks = audit(seen.append, stages=["pre_assess"])
    for before in range(1_950, 2_010, 7):
        agent_at(serve("done"), hooks=hooks).run_sync("x" * (before - 1) + " " + SECRET + " and more " * 300)
        assert SECRET[:12] not in seen[-1]["prompt"], before


def test_d04_cost_lets_no_request_go_out_above_its_limit(serve: Serve, way: str) -> None:
    script = [
        response(Response("", [Call("read", {"path": "a"})], input_tokens=1_000_000, output_tokens=0)),
        response(Response("done", input_tokens=1, output_tokens=1)),
    ]
    price = {"input": 3.0, "output": 15.0}
    for hooks, options in ((cost(2.5, price=price), {}), (cost(2.5), {"price": price})):
        server = serve(*script)
        result, _ = run(agent_at(server, tools=[read], hooks=hooks, **options), "go", way)
        assert (result.stop_reason, len(server.requests)) == ("hook_veto", 1)
        assert "3 of 2.5" in (result.message or "")
        server = serve(*script)
        enough = cost(3.5, price=price)
        result, _ = run(agent_at(server, tools=[read], hooks=enough), "go", way)
        assert result.final == "done"


def test_d04_cost_without_a_price_stops_rather_than_go_on_uncounted(serve: Serve) -> None:
    server = serve(response(Response("", [Call("read", {"path": "a"})], input_tokens=9)), "done")
    with pytest.raises(HookError) as caught:
        agent_at(server, tools=[read], hooks=cost(1.0)).run_sync("go")
    assert "price" in caught.value.message
    assert len(server.requests) == 1


def test_d04_capture_output_gets_each_answer_as_it_is_given(serve: Serve, way: str) -> None:
    answers, heard = list[str](), list[str]()
    hooks = [content_safety(), capture_output(answers), capture_output(heard.append)]
    run(agent_at(serve(f"it is {SECRET}"), hooks=hooks), "go", way)
    assert answers == heard == ["it is [redacted:github-token]"]


@pytest.mark.parametrize("action", ["tell", "deny", "stop"])
def test_d04_loop_detection_tells_denies_or_stops(serve: Serve, way: str, action: str) -> None:
    server = serve(*[call("read", path="a") for _ in range(5)], text("done"))
    agent = agent_at(server, tools=[read], monitor=Monitor(stuck=None), hooks=loop_detection(action=action))
    result, _ = run(agent, "go", way)
    if action == "tell":
        assert result.final == "done"
        assert "same arguments" in json.dumps(server.requests[3]["body"])
        assert "same arguments" not in json.dumps(server.requests[2]["body"])
    elif action == "deny":
        assert [each.failure for each in result.tool_calls] == [None, None, None, "denied", "denied"]
        assert result.final == "done"
    else:
        assert (result.stop_reason, len(server.requests)) == ("hook_veto", 3)


def test_d04_loop_detection_keeps_runs_apart(serve: Serve) -> None:
    hooks = loop_detection(action="stop")
    for _ in range(3):
        server = serve(call("read", path="a"), text("done"))
        assert agent_at(server, tools=[read], hooks=hooks).run_sync("go").final == "done"


def test_d04_content_safety_redacts_what_the_model_reads_and_says(serve: Serve, wire: str, way: str) -> None:
    server = serve(calls(Call("read", {"path": "secret"}), Call("read", {"path": "b"})), text(f"key: {SECRET}"))
    result, _ = run(agent_at(server, wire, tools=[read], hooks=content_safety()), "go", way)
    body = json.dumps(server.requests[1]["body"])
    assert SECRET not in body
    assert "[redacted:github-token] of grace" in body
    assert "content of b" in body
    assert result.final == "key: [redacted:github-token]"
    assert SECRET not in json.dumps(result.messages.to_dicts())


def test_d04_content_safety_withholds(serve: Serve, wire: str, way: str) -> None:
    server = serve(call("read", path="secret"), text(f"key: {SECRET}"))
    hooks = content_safety(action="veto", stages=["post_tool", "pre_output"])
    result, _ = run(agent_at(server, wire, tools=[read], hooks=hooks), "go", way)
    assert SECRET not in json.dumps(server.requests[1]["body"])
    assert result.tool_calls[0].failure == "withheld"
    assert (result.final, result.stop_reason) == (None, "hook_veto")
    assert "github-token" in (result.message or "")


def test_d04_content_safety_sees_a_secret_across_blocks_and_keeps_pictures(serve: Serve, wire: str) -> None:
    png = base64.b64decode(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgAAACAAAB4iG8MwAAAABJRU5ErkJggg=="
    )

    @tool
    def parts() -> list[Any]:
        """Give parts."""
        return [Text("token " + SECRET[:20]), Image.from_bytes(png), Text(SECRET[20:])]

    server = serve(call("parts"), text("done"))
    agent_at(server, wire, tools=[parts], hooks=content_safety()).run_sync("go")
    body = json.dumps(server.requests[1]["body"])
    assert SECRET[:20] not in body
    assert SECRET[20:] not in body
    assert base64.b64encode(png).decode() in body


def test_d04_content_safety_looks_into_failures_too(serve: Serve) -> None:
    @tool
    def breaks() -> str:
        """Break."""
        message = f"no access with {SECRET}"
        raise RuntimeError(message)

    server = serve(call("breaks"), text("done"))
    result = agent_at(server, tools=[breaks], hooks=content_safety()).run_sync("go")
    assert SECRET not in json.dumps(server.requests[1]["body"])
    assert SECRET not in json.dumps(result.messages.to_dicts())


@pytest.mark.parametrize(
    "make",
    [
        lambda: cost(-1),
        lambda: cost(float("nan")),
        lambda: cost(1, price={"input": 1}),
        lambda: capture_output("x"),  # type: ignore[arg-type]
        lambda: loop_detection(action="shout"),
        lambda: content_safety(action="shout"),
        lambda: content_safety(level="top"),
        lambda: content_safety(stages=["pre_lunch"]),
    ],
)
def test_d04_wrong_settings_are_errors(make: Callable[[], Any]) -> None:
    with pytest.raises(LoopwrightError) as caught:
        make()
    assert caught.value.hint


def test_d04_audit_tells_of_each_stage_what_it_is_about(serve: Serve, wire: str, way: str, tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    server = serve(call("read", path="a"), text("Done."))
    result, _ = run(agent_at(server, wire, tools=[read], hooks=audit(path)), "Read it.", way)
    assert drain()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert path.read_bytes().endswith(b"\n") and all(line["run"] == result.run_id for line in lines)
    of = {line["stage"]: line for line in reversed(lines)}
    assert of["pre_assess"]["prompt"] == "Read it."
    assert {"decision", "confidence", "signals"} <= set(of["post_assess"])
    assert of["pre_reason"]["messages"] == 1 and of["pre_llm"]["messages"] == 1 and of["pre_llm"]["model"]
    assert of["post_llm"]["calls"] == ["read"] and set(of["post_llm"]["usage"]) == {"input_tokens", "output_tokens"}
    assert sum(line["usage"]["input_tokens"] for line in lines if "usage" in line) == result.usage.input_tokens
    assert sum(line["usage"]["output_tokens"] for line in lines if "usage" in line) == result.usage.output_tokens
    assert of["post_reason"]["calls"] == ["read"] and of["post_reason"]["rule"]
    assert of["pre_tool"]["name"] == "read" and of["pre_tool"]["arguments"] == {"path": "a"}
    assert of["post_tool"]["text"] == "content of a" and of["post_tool"]["characters"] == len("content of a")
    assert of["post_tool"]["is_error"] is False and of["post_tool"]["call_id"] == of["pre_tool"]["call_id"]
    assert of["pre_output"]["text"] == of["post_output"]["text"] == "Done."
    elapsed = [line["elapsed"] for line in lines if not line["stage"].endswith("_reflect")]
    assert elapsed == sorted(elapsed)
