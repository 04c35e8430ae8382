"""Checked by `mypy --strict` and by pyright in strict mode, never run: what people write in their first hour needs no
annotation of an agent, and has the types they expect.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Annotated, Literal, TypedDict

from loopwright import Agent, Result, RunContext, tool
from loopwright.events import RunFinished, ToolFinished
from loopwright.run import RunStream, ToolCall
from loopwright.testing import ScriptedModel, call
from typing_extensions import assert_type


@dataclass
class Invoice:
    number: str
    total: float


@dataclass
class Refusal:
    why: str


class Row(TypedDict):
    a: int


def stock(part: str, *, warehouse: str = "main") -> int:
    """How many of a part there are."""
    return len(part + warehouse)


async def later(part: str) -> list[str]:
    """What there will be of a part."""
    return [part]


@tool(read_only=True)
def price(part: str) -> float:
    """The price of a part."""
    return 1.5 * len(part)


@tool
async def remember(fact: str, context: RunContext[list[str]]) -> None:
    """Keep a fact."""
    context.deps.append(fact)


class Shop:
    """A method is a tool, too."""

    def open(self, day: str) -> bool:
        """Whether the shop is open."""
        return day != "Sunday"


model = ScriptedModel([call("stock", part="bolts"), "120."])

# An agent that is given no type of answers answers in text.
plain = Agent(model)
assert_type(plain, Agent[None, str])
agent = Agent(model, tools=[stock])
assert_type(agent, Agent[None, str])
many = Agent(
    "openai:gpt-5",
    tools=[stock, later, price, remember, Shop().open, lambda: 3],
    instructions="Be brief.",
    deps_type=list[str],
)
assert_type(many, Agent[list[str], str])
result = many.run_sync("How many?", deps=[])
assert_type(result, Result[str])
assert_type(result.output, str)
assert_type(result.final, str | None)
unannotated: Result = result  # the parameter has a default
assert_type(unannotated.output, str)

# Classes, lists, unions, literals and whatever else pydantic knows.
invoices = Agent(model, tools=[stock], output_type=Invoice)
assert_type(invoices, Agent[None, Invoice])
assert_type(invoices.run_sync("x"), Result[Invoice])
assert_type(invoices.run_sync("x").output.total, float)
assert_type(Agent(model, output_type=list[Invoice]).run_sync("x").output, list[Invoice])
assert_type(Agent(model, output_type=dict[str, int]).run_sync("x").output, dict[str, int])
assert_type(Agent(model, output_type=Row).run_sync("x").output, Row)
assert_type(Agent(model, output_type=bool).run_sync("x").output, bool)
assert_type(Agent(model, output_type=Invoice | Refusal).run_sync("x").output, Invoice | Refusal)
assert_type(Agent(model, output_type=Invoice | None).run_sync("x").output, Invoice | None)
assert_type(Agent(model, output_type=Literal["yes", "no"]).run_sync("x").output, Literal["yes", "no"])
assert_type(Agent(model, output_type=Annotated[Invoice, "checked"]).run_sync("x").output, Invoice)


def failures(calls: list[ToolCall]) -> list[BaseException]:
    """What the tools raised."""
    return [made.error for made in calls if made.error is not None]


async def main() -> None:
    """A run and a stream."""
    answer = await invoices.run("x")
    assert_type(answer, Result[Invoice])
    assert_type(failures(answer.tool_calls), list[BaseException])
    stream = agent.stream("How many?")
    assert_type(stream, RunStream[str])
    async for event in stream:
        match event:
            case ToolFinished(name=name):
                print(name, event.error)
            case RunFinished(result=ended):
                print(ended.stop_reason)
            case _:
                pass
    assert_type(stream.result.output, str)


asyncio.run(main())
