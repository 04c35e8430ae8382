"""A program that says where its models live and how they are asked: each type checks, and it runs."""

from __future__ import annotations

from dataclasses import replace

from loopwright import Agent, ContextPolicy, Grounded, Model, ModelSettings, Monitor, SubAgent
from loopwright._core import Request
from loopwright.hooks import ModelChoice, Router
from loopwright.models import Responds, Response, Streams
from loopwright.roles import Role
from typing_extensions import assert_type


class Echo:
    """A model of one's own."""

    def respond(self, request: Request) -> Response | str:
        return request.last_text


def key() -> str:
    return "from a vault"


settings: ModelSettings = {
    "temperature": None,
    "stop": ["END"],
    "effort": "low",
    "parallel_tool_calls": False,
    "seed": 7,
    "extra_body": {"user": {"tier": 1}},
    "extra_headers": {"x-team": "docs"},
}
own: Responds = Echo()
small = Model("openai-chat:small", base_url="http://localhost:8000/v1", api_key=key, settings=settings)
large = Model(
    "offline:extractive",
    fallback=[small, "ollama:qwen3", own],
    timeouts={"total": 20.0},
    retry={"attempts": 2},
    price={"input": 1.0, "output": 2.0},
    profile={"limit": "max_tokens", "refuses": ["stream_options"]},
)
agent = Agent(
    large,
    context=ContextPolicy(summarizer=small),
    monitor=Monitor(sanity=Role(small)),
    agents=[SubAgent("a", "b", model=small)],
)
assert_type(agent, "Agent[None, str]")
assert_type(large.name, str | Responds | Streams)
paid = Agent(Model(own, price={"input": 1.0, "output": 2.0}))
assert_type(small.settings, ModelSettings)
choice = ModelChoice(small, 0.9)
typed = Agent(Router(choice, default=replace(small, escalate_to=small)), output_type=int)
assert_type(typed, "Agent[None, int]")
judged = Grounded(large, judge=small)
echo = Agent(own)


def models(given: str | Model | Responds) -> str:
    if isinstance(given, str):
        return given
    if isinstance(given, Model):
        return str(assert_type(given, Model).name)
    return "one's own"
