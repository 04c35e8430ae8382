# Everything here must pass, and infer what assert_type says, without one annotation of an Agent.
from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict

from loopwright import (
    Agent,
    Approval,
    Budget,
    Edit,
    Grounded,
    Guard,
    Handoff,
    Model,
    Output,
    Research,
    Result,
    RunContext,
    Tool,
    Toolset,
    tool,
)
from loopwright.models import Call, Request
from loopwright.research import ResearchResult
from typing_extensions import assert_type


@dataclass
class City:
    name: str
    people: int


@dataclass
class Refusal:
    why: str


class Row(TypedDict):
    a: int


@dataclass
class Db:
    dsn: str


def plain(city: str) -> int:
    return len(city)


async def plain_async(city: str) -> int:
    return len(city)


class Shop:
    def stock(self, part: str) -> int:
        return 1


@tool
def decorated(city: str) -> int:
    "How many people."
    return len(city)


@tool(read_only=True)
def query(context: RunContext[Db], sql: str) -> str:
    return context.deps.dsn + sql


@tool
async def aquery(context: RunContext[Db], sql: str, *, limit: int = 3) -> list[str]:
    return [context.deps.dsn + sql] * limit


# 1 nothing but a model; tools of all kinds
a1 = Agent("openai:gpt-5")
assert_type(a1, Agent[None, str])
a2 = Agent("openai:gpt-5", tools=[plain])
assert_type(a2, Agent[None, str])
a3 = Agent("openai:gpt-5", tools=[plain, plain_async, decorated, Shop().stock])
assert_type(a3.run_sync("Hi").output, str)

# 2 outputs: class, list, union, optional, Literal, TypedDict, wrapper, function
assert_type(Agent("m", output_type=City).run_sync("x").output, City)
assert_type(Agent("m", output_type=list[City]).run_sync("x").output, list[City])
assert_type(Agent("m", output_type=City | Refusal).run_sync("x").output, City | Refusal)
assert_type(Agent("m", output_type=City | None).run_sync("x").output, City | None)
assert_type(Agent("m", output_type=Literal["a", "b"]).run_sync("x").output, Literal["a", "b"])
assert_type(Agent("m", output_type=Row).run_sync("x").output, Row)
assert_type(Agent("m", output_type=bool).run_sync("x").output, bool)
assert_type(Agent("m", output_type=Annotated[City, Output(mode="native", attempts=2)]).run_sync("x").output, City)
assert_type(Agent("m", output_type=Annotated[City | None, Output(mode="tool")]).run_sync("x").output, City | None)
assert_type(Agent("m", output_type=Annotated[list[City], Output(call=plain)]).run_sync("x").output, list[City])
assert_type(
    Agent("m", output_type=Annotated[City, Output(call=query)], deps_type=Db).run_sync("x", deps=Db("d")).output, City
)
a4 = Agent(
    "m",
    output_type=City,
    tools=[plain, decorated],
    settings={"temperature": 0, "max_tokens": 300},
    budget=Budget(cost=0.1),
)
assert_type(a4, Agent[None, City])

# 3 deps: from deps_type, from the tools alone, from instructions alone
a5 = Agent("m", deps_type=Db, tools=[query, aquery, decorated, plain], output_type=City)
assert_type(a5, Agent[Db, City])
assert_type(a5.run_sync("x", deps=Db("d")).output, City)
a6 = Agent("m", deps_type=Db, tools=[query])
assert_type(a6, Agent[Db, str])


def who(context: RunContext[Db]) -> str:
    return f"You serve {context.deps.dsn}."


a7 = Agent("m", deps_type=Db, instructions=who)
assert_type(a7, Agent[Db, str])
a8 = Agent("m", deps_type=Db, instructions=["Be brief.", who, lambda context: context.deps.dsn])
assert_type(a8, Agent[Db, str])
assert_type(decorated("Oslo"), int)


# 4 the run's options
def approve(question: Approval) -> bool | str | Edit:
    return Edit({**question.arguments, "amount": 1}) if question.name == "pay" else "not on my machine"


r = a5.run_sync(
    "x",
    deps=Db("d"),
    messages=[{"role": "user", "content": "hi"}],
    model="anthropic:claude",
    approve=approve,
    budget=Budget(rounds=3),
    settings={"effort": "low"},
    user="sam",
    metadata={"order": 7},
)
assert_type(r, Result[City])
a9 = Agent("m", guard=Guard(approve=approve)), Agent("m", guard=approve), Agent("m", guard=Guard(on_cautious="ask"))


# 5 models of one's own
class Echo:
    def respond(self, request: Request) -> str:
        return "hi"


class Slow:
    async def respond(self, request: Request) -> str:
        return "hi"


class Stream:
    async def stream(self, request: Request) -> AsyncIterator[str | Call]:
        yield "Hel"
        yield "lo"
        yield Call("lookup", {"key": "a"})


for own in (
    Agent(Echo()),
    Agent(Slow()),
    Agent(Stream()),
    Agent(Model("openai-chat:qwen3", base_url="http://localhost")),
):
    assert_type(own, Agent[None, str])

# 6 handoffs, sub-agents, clone, override, toolsets
billing = Agent("m", name="billing", deps_type=Db)
front = Agent("m", deps_type=Db, handoffs=[billing, Handoff(a6, description="SQL")], agents=[a5])
needy = Agent("m", deps_type=Db, handoffs=[Agent("m", name="needs no deps"), billing])
assert_type(needy, Agent[Db, str])
assert_type(front, Agent[Db, str])
assert_type(a5.clone(output_type=int), Agent[Db, int])
assert_type(a5.clone(model="x"), Agent[Db, City])
with a5.override(model=Echo(), deps=Db("test")):
    pass
tools = Toolset[Db]([query, plain], name="db").prefixed("db").asking("db_query")
assert_type(tools, Toolset[Db])
a10 = Agent("m", deps_type=Db, tools=[tools, decorated])
assert_type(a10, Agent[Db, str])


def offered(context: RunContext[Db]) -> list[object]:
    return [plain] if context.deps.dsn else []


async def changed(context: RunContext[Db], each: Tool[..., Any, Any]) -> Tool[..., Any, Any] | None:
    return each if context.deps.dsn else None


class EachRound(Toolset[Db]):
    async def tools(self, context: RunContext[Db]) -> list[Tool[..., Any, Any]]:
        return [decorated] if context.deps.dsn else []


@tool(deferred=True)
def elsewhere(wall: str) -> str:
    return wall


views = Toolset(offered).prepared(changed).found_by_search().deferred()
asked_for = tools.asking(when=lambda context, call: call.name == context.deps.dsn)
assert_type(asked_for, Toolset[Db])
a11 = Agent("m", deps_type=Db, tools=[views, asked_for, EachRound(), elsewhere])
assert_type(a11, Agent[Db, str])


# 7 streams
async def main() -> None:
    async with a5.stream("x", deps=Db("d")) as stream:
        async for event in stream:
            match event.type:
                case "text_delta":
                    print(event.text, end="")
                case "tool_started":
                    print(event.name, event.arguments)
                case "reset":
                    print("(again)")
                case "run_finished":
                    print(event.result.stop_reason)
                case _:
                    pass
    assert_type(stream.result.output, City)
    async with Agent("m", output_type=list[City]).stream("x") as cities:
        async for city in cities.items():
            assert_type(city, City)
    async with a4.stream("x") as one:
        async for partial in one.outputs():
            assert_type(partial.value, City | None)
    with a4.stream_sync("x") as plain_stream:
        for said in plain_stream.text():
            assert_type(said, str)
    assert_type((await a4.run("x")).output, City)


asyncio.run(main())


# answers from sources and researches have the words of an agent
docs = Grounded("openai:gpt-5", sources=["docs"], instructions="Be brief.", settings={"temperature": 0})
with docs.override(model="offline:extractive"):
    assert_type(docs.run_sync("x", journal="runs.db", user="sam"), Result[str])
assert_type(docs.clone(profile="slack"), Grounded)
report = Research("openai:gpt-5", corpus="docs", budget=Budget(cost=1.0)).run_sync("x", settings={"effort": "low"})
assert_type(report, ResearchResult)
assert_type(Research().clone().resume_sync("runs.db", {"call": True}), ResearchResult)
