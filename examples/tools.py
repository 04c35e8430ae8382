"""Tools, a person who is asked, and a budget.

The model is played by a server of ours that speaks the Anthropic protocol on a real socket, so this runs without a key.
With a real model everything else stays as it is: `Agent("anthropic:claude-sonnet-4-5", tools=[...])`.
"""

from __future__ import annotations

from loopwright import Agent, Approval, Budget, Call, Model, ToolError, tool
from loopwright.testing import WireServer, call, calls, fault, text

STOCK = {"bolts": 120, "nuts": 80}


@tool(read_only=True)
def in_stock(part: str) -> int:
    """How many of a part are in stock.

    Args:
        part: The part's name, in the plural.
    """
    if part not in STOCK:
        raise ToolError(f"there is no part named {part!r}", code="unknown_part", hint=f"known are {', '.join(STOCK)}")
    return STOCK[part]


@tool(risk="confirm")
def order(part: str, number: int) -> str:
    """Order parts from the supplier. This costs money."""
    STOCK[part] += number
    return f"{number} {part} are on their way"


def approve(question: Approval) -> bool | str:
    """Stands for a person: small orders are fine."""
    print(f"  ? may {question.name} run with {question.arguments}? ({question.why})")
    if question.arguments["number"] <= 100:
        return True
    return "at most 100 at a time"


SCRIPT = [
    # Two read-only calls at once, one of them wrong: the model reads why and goes on.
    calls(Call("in_stock", {"part": "bolts"}), Call("in_stock", {"part": "screws"})),
    fault.status(529),  # the provider is overloaded: tried again, nobody notices
    call("order", part="nuts", number=500),
    call("order", part="nuts", number=100),
    text("I have ordered 100 nuts. There are 120 bolts; screws are not kept."),
]


def main() -> None:
    with WireServer(SCRIPT, strict="any") as server:
        agent = Agent(
            Model("anthropic:scripted", base_url=server.url),
            tools=[in_stock, order],
            guard=approve,
            budget=Budget(tool_rounds=5, wall_time=30),
        )
        result = agent.run_sync("Have we enough bolts, screws and nuts?")
        print(result.final)
        print(f"[{result.stop_reason}; {result.tool_rounds} rounds of tools]")
        for made in result.tool_calls:
            print(f"  {made.name}({made.arguments}) {made.failure or 'ok'}")

        # A smaller budget ends the run with what there is, and says so.
        server.push(call("in_stock", part="bolts"))
        result = agent.run_sync("And now?", budget=Budget(rounds=1))
        print(f"[{result.stop_reason}; partial: {result.partial}] {result.warnings[-1]}")


if __name__ == "__main__":
    main()
