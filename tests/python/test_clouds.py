"""Azure, Vertex and Bedrock end to end: agents over real sockets, with what the environment says of them."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from loopwright import Agent, Message, Model, ProviderError, UsageError, tool, wire
from loopwright.events import TextDelta
from loopwright.models import Call
from loopwright.testing import WireServer, calls, fault, recorded, text
from ways import KEY, run

CLAUDE = "claude-sonnet-4-5@20250929"
PLACE = "/v1/projects/our-project/locations/europe-west1/publishers"
BEGINNINGS = ("AZURE_", "OPENAI_", "VERTEX_", "GOOGLE_", "CLOUD", "ANTHROPIC_", "AWS_")


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing of this machine's own clouds."""
    for name in list(os.environ):
        if name.startswith(BEGINNINGS):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))


@tool(read_only=True)
def population(city: str) -> int:
    """How many live there.

    Args:
        city: The city.
    """
    return {"Oslo": 700_000, "Bergen": 290_000}[city]


CLOUDS = {
    "azure": (
        "azure:our-gpt",
        "AZURE_OPENAI_ENDPOINT",
        {"AZURE_OPENAI_API_KEY": KEY, "OPENAI_API_VERSION": "2024-10-21"},
    ),
    "vertex": (
        "vertex:gemini-2.5-flash",
        "VERTEX_BASE_URL",
        {"VERTEX_ACCESS_TOKEN": KEY, "GOOGLE_CLOUD_PROJECT": "our-project", "GOOGLE_CLOUD_LOCATION": "europe-west1"},
    ),
    "claude": (
        f"vertex:{CLAUDE}",
        "VERTEX_BASE_URL",
        {"VERTEX_ACCESS_TOKEN": KEY, "GOOGLE_CLOUD_PROJECT": "our-project", "GOOGLE_CLOUD_LOCATION": "europe-west1"},
    ),
    "bedrock": (
        "bedrock:us.anthropic.claude-x-v1:0",
        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
        {
            "AWS_REGION": "eu-west-1",
            "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
            "AWS_SECRET_ACCESS_KEY": "a-secret-key-of-nobody",
        },
    ),
}
PATHS = {
    "azure": ["/openai/deployments/our-gpt/chat/completions?api-version=2024-10-21"],
    "vertex": [
        f"{PLACE}/google/models/gemini-2.5-flash:generateContent",
        f"{PLACE}/google/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
    ],
    "claude": [f"{PLACE}/anthropic/models/{CLAUDE}:rawPredict", f"{PLACE}/anthropic/models/{CLAUDE}:streamRawPredict"],
    "bedrock": [
        "/model/us.anthropic.claude-x-v1%3A0/converse",
        "/model/us.anthropic.claude-x-v1%3A0/converse-stream",
    ],
}


@pytest.mark.parametrize("cloud", CLOUDS)
def test_a_cloud_is_asked_at_its_address_with_the_credentials_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, way: str, cloud: str
) -> None:
    model, variable, environment = CLOUDS[cloud]
    asked = [Call("population", {"city": city}) for city in ("Oslo", "Bergen")]
    with WireServer([calls(*asked), text("Oslo is larger.")]) as server:
        monkeypatch.setenv(variable, server.url)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        result, _ = run(Agent(model, tools=[population]), "Which is larger?", way)
        requests = server.requests
    assert result.final == "Oslo is larger." and len(result.tool_calls) == 2
    assert all(count in json.dumps(requests[1]["body"]) for count in ("700000", "290000"))
    assert {each["path"] for each in requests} <= set(PATHS[cloud])
    assert KEY not in repr(requests)
    headers = {name: value for each in requests for name, value in each["headers"]}
    named = "api-key" if cloud == "azure" else "authorization"
    assert headers[named] == "***"
    assert ("x-amz-date" in headers) == (cloud == "bedrock")
    body = requests[0]["body"]
    assert ("model" in body) == (cloud == "azure")
    assert body.get("anthropic_version") == ("vertex-2023-10-16" if cloud == "claude" else None)


@pytest.mark.parametrize(
    ("model", "environment", "code", "says"),
    [
        ("azure:d", {"AZURE_OPENAI_API_KEY": KEY}, "missing_endpoint", "AZURE_OPENAI_ENDPOINT"),
        ("azure:d", {"AZURE_OPENAI_ENDPOINT": "https://n.openai.azure.com"}, "missing_key", "AZURE_OPENAI_API_KEY"),
        ("vertex:m", {"VERTEX_ACCESS_TOKEN": KEY}, "missing_setting", "GOOGLE_CLOUD_PROJECT"),
        ("vertex:m", {"GOOGLE_CLOUD_PROJECT": "p"}, "missing_key", "GOOGLE_APPLICATION_CREDENTIALS"),
        ("bedrock:m", {"AWS_BEARER_TOKEN_BEDROCK": KEY}, "missing_setting", "AWS_REGION"),
        ("bedrock:m", {"AWS_REGION": "eu-west-1"}, "missing_key", "AWS_ACCESS_KEY_ID"),
        ("bedrock:m", {"AWS_REGION": "eu-west-1", "AWS_PROFILE": "nobody"}, "invalid_credentials", "nobody"),
    ],
)
def test_what_lacks_is_told_when_a_run_begins_and_by_check(
    monkeypatch: pytest.MonkeyPatch, model: str, environment: dict[str, str], code: str, says: str
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    later = code != "invalid_credentials"
    agents = (Agent(model), Agent(Model("ollama:x", fallback=[model]))) if later else ()
    attempts = [way for one in agents for way in (one.check, lambda one=one: one.run_sync("x"))]
    for attempt in attempts or [lambda: Agent(model)]:
        with pytest.raises(UsageError) as caught:
            attempt()
        assert caught.value.code == code and says in str(caught.value)
    assert not later or f"the fallback {model}" in caught.value.message


def test_a_prompt_that_azure_filters_ends_the_run_with_its_code(monkeypatch: pytest.MonkeyPatch) -> None:
    inner = {"code": "ResponsibleAIPolicyViolation", "content_filter_result": {"hate": {"filtered": True}}}
    error = {"message": "The response was filtered", "param": "prompt", "code": "content_filter", "innererror": inner}
    with WireServer([recorded(400, "application/json", json.dumps({"error": error}))]) as server:
        monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", server.url)
        with pytest.raises(ProviderError) as caught:
            Agent(Model("azure:d", api_key=KEY)).run_sync("x")
    assert (caught.value.code, caught.value.status) == ("content_filter", 400)


def test_bedrock_streams_frames_and_what_breaks_them_is_tried_again() -> None:
    whole = "One answer in several pieces."
    with WireServer([fault.cut(after=2), fault.error_event(after=1), replace(text(whole), piece=4)]) as server:
        agent = Agent(Model("bedrock:m", base_url=server.url, api_key=KEY, retry={"base": 0.001}))
        result, events = run(agent, "x", "stream")
    assert result.final == whole
    assert sum(isinstance(event, TextDelta) for event in events) > 1


def test_the_codec_of_bedrock_has_its_name() -> None:
    body = {"messages": [{"role": "user", "content": [{"text": "Hi."}, {"cachePoint": {"type": "default"}}]}]}
    request = wire.decode_request("bedrock", json.dumps(body))
    assert json.loads(wire.encode_request("bedrock", request)) == body
    message: Any = json.loads(wire.encode_message("bedrock", Message.user("Hi.")))
    assert message == {"role": "user", "content": [{"text": "Hi."}]}
