"""Histories that other libraries, other hosts and broken runs left: whatever they hold, each request is legal.

Messages are drawn at random in the three forms that people keep: results without calls and calls without results, ids and
names that a host refuses, blank words, reasoning without proof, and what stands in no order. Servers are as strict as the
providers; what the history held stays in the record.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from loopwright import Agent, Model, Monitor, UsageError, tool
from loopwright.testing import WireServer, text

HOSTS = {
    "anthropic": "anthropic:claude-sonnet-4-5",
    "openai": "openai-chat:gpt-4o",
    "openai responses": "openai-responses:gpt-5",
    "azure": "azure:gpt-4o",
    "mistral": "mistral:mistral-large-latest",
    "groq": "groq:llama-3.3-70b-versatile",
    "deepseek": "deepseek:deepseek-reasoner",
    "gemini": "gemini:gemini-3-pro-preview",
    "bedrock": "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "vertex": "vertex:gemini-2.5-pro",
    "vertex claude": "vertex:claude-sonnet-4-5@20250929",
}
WORDS = st.sampled_from(
    ["", " ", "\n", "hi", "\x00", "\u2028", "</s>", "null", "[DONE]", '<tool_call>{"name": "look"}']
)
IDS = st.sampled_from(["", "a", "call_1", "call|1", "x" * 100, "天气", "a b", "toolu_01", "\x00"])
NAMES = st.sampled_from(["look", "", "functions.look", "天气", "x" * 250, "look<|channel|>x", "-"])
ARGUMENTS = st.sampled_from(['{"n": 1}', "", "null", "[]", "{broken", '"x"', '{"n": 1}{"n": 2}', "NaN"])
PIXEL = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}


def each(**members: Any) -> st.SearchStrategy[dict[str, Any]]:
    """Dicts of these members; what is no strategy is what it is."""
    found = {name: value if isinstance(value, st.SearchStrategy) else st.just(value) for name, value in members.items()}
    return st.fixed_dictionaries(found)


TEXTS = each(type="text", text=WORDS)
CHAT = st.one_of(
    each(role=st.sampled_from(["user", "system", "developer"]), content=st.one_of(WORDS, st.lists(TEXTS, max_size=2))),
    each(role="assistant", content=WORDS, name="bob"),
    each(role="assistant", content=st.none(), refusal="I can't."),
    each(
        role="assistant",
        content=st.one_of(st.none(), WORDS),
        tool_calls=st.lists(
            each(id=IDS, type="function", function=each(name=NAMES, arguments=ARGUMENTS)), min_size=1, max_size=3
        ),
    ),
    each(role="tool", tool_call_id=IDS, content=st.one_of(WORDS, st.lists(TEXTS, max_size=2))),
)
RESULTS = each(
    type="tool_result",
    tool_use_id=IDS,
    content=st.one_of(WORDS, st.lists(st.one_of(TEXTS, st.just({"type": "image", "source": PIXEL})), max_size=2)),
)
THOUGHTS = each(type="thinking", thinking=WORDS, signature=st.sampled_from(["", "sig=="]))
CALLS = each(type="tool_use", id=IDS, name=NAMES, input=st.sampled_from([{}, {"n": 1}]))
SEARCHES = st.just({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}})
CLAUDE = st.one_of(
    each(role="user", content=st.one_of(WORDS, st.lists(st.one_of(TEXTS, RESULTS), max_size=4))),
    each(
        role="assistant",
        content=st.one_of(WORDS, st.lists(st.one_of(TEXTS, THOUGHTS, CALLS, SEARCHES), max_size=4)),
    ),
)
SUMMARIES = st.lists(each(type="summary_text", text=WORDS), max_size=1)
ITEMS = st.one_of(
    each(role="user", content=WORDS),
    each(
        type="message", role="assistant", id="msg_1", content=st.tuples(each(type="output_text", text=WORDS)).map(list)
    ),
    each(type="reasoning", id="rs_1", summary=SUMMARIES, encrypted_content="e"),
    each(type="function_call", call_id=IDS, name=NAMES, arguments=ARGUMENTS),
    each(type="function_call_output", call_id=IDS, output=WORDS),
)
HISTORIES = st.one_of(*(st.lists(kind, min_size=1, max_size=8) for kind in (CHAT, CLAUDE, ITEMS)))


@tool(read_only=True)
def look(n: int = 0) -> str:
    """Looks something up."""
    return f"it is {n}"


@pytest.fixture(scope="module", autouse=True)
def clouds() -> Iterator[None]:
    """Nothing of this machine's own clouds but a project."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GOOGLE_CLOUD_PROJECT", "project")
        patch.setenv("AZURE_OPENAI_API_VERSION", "2024-10-21")
        yield


@pytest.mark.parametrize("host", HOSTS)
def test_w2_w3_w30_any_history_that_is_given_is_legal_at_any_host(host: str) -> None:
    strict: Any = host.split(maxsplit=1)[0]
    with WireServer([text("Done.")], repeat_last=True, strict=strict) as server:
        model = Model(HOSTS[host], base_url=server.url, api_key="k", retry={"attempts": 1})
        agent = Agent(model, tools=[look], monitor=Monitor(stuck=None, momentum=None))

        @settings(
            max_examples=80, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None
        )
        @given(HISTORIES)
        def goes(history: list[dict[str, Any]]) -> None:
            try:
                result = agent.run_sync("Go.", messages=history)
            except UsageError as error:
                # What a form does not have, and pictures that the host does not take, are said before anything is sent.
                assert error.code in {"invalid_messages", "unsupported_block"}  # noqa: PT017
            else:
                assert result.final == "Done."
                assert [str(refused) for refused in server.refusals] == []

        goes()
