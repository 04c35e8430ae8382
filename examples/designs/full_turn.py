"""A full turn: intent, memory, hooks, a sub-agent, supervised data, an approval, work after the turn, and its trace.

The models are played by scripts; everything else is as it would be with `Agent("anthropic:claude-sonnet-4-5", …)`.
"""

from __future__ import annotations

import tempfile

from loopwright import Agent, Guard, Memory, Monitor, SubAgent, events, tool
from loopwright.hooks import HookContext, Hooks, Veto, content_safety
from loopwright.memory import AfterTurn, MemoryPolicy
from loopwright.testing import ScriptedModel, call, calls

TOLD = (events.ApprovalDecided, events.AgentStarted, events.IntentAssessed, events.MemoryRecalled, events.Supervised)
EXPLORE = call("spawn", agent="explore", task="Where are invoices made?")
QUERY = call("db_query", sql="select * from customers where name = 'Ada Lovelace'")
LETTER = call("mail", to="ada@example.org", text="Your invoice comes on Friday.")
SCRIPT = [calls(EXPLORE, QUERY), call("db_query", sql="drop table customers"), LETTER, "Ada has her letter."]
TASK = "Find out where the code makes invoices, and mail Ada Lovelace of the customers database when they go out."
hooks = Hooks()


@tool(read_only=True)
def db_query(sql: str) -> str:
    """Ask the customers' database. What comes of it is classed before the model may see it."""
    return f"{sql}: Ada Lovelace, ada@example.org, +44 20 7946 0958"


@tool(risk="confirm")
def mail(to: str, text: str) -> str:
    """Send a letter."""
    return f"{len(text)} characters are sent to {to}"


@hooks.on("pre_tool")
def only_reads(context: HookContext) -> Veto | None:
    return Veto("nothing is dropped here") if "drop" in str(context.subject.arguments) else None


def tell(event: events.Event) -> None:
    if isinstance(event, TOLD) or getattr(event, "answer", "") == "veto":
        print(event)


with tempfile.TemporaryDirectory() as folder:
    memory = Memory(f"{folder}/memory.db")
    memory.remember("Invoices go out on Fridays.", "semantic", trust="user")
    agent = Agent(
        ScriptedModel(SCRIPT), tools=[db_query, mail], memory=MemoryPolicy(memory, after=AfterTurn(reflection=True)),
        agents=[SubAgent("explore", "finds things in the code", model=ScriptedModel(["In src/invoice.py."]))],
        hooks=[hooks, content_safety()], monitor=Monitor(intent="act"), journal=folder,
        guard=Guard(lambda question: question.arguments["to"].endswith("@example.org"), supervisor="rules"),
    )  # fmt: skip
    asked = agent.run_sync("Send it.", user="sam", on_event=tell)
    print(f"== {asked.final} [{asked.stop_reason}: {asked.message}]")
    result = agent.resume_sync(asked, answer=f"{TASK} I prefer short letters.", user="sam", on_event=tell)
    print(f"== {result.final} [{result.stop_reason}: {result.message}]\n{result.plans[0].instruction}")
    print(*(f"round {one.round} of {one.model}: {one.saw}" for one in result.trace()), agent.drain_sync(10), sep="\n")
    print(*(f"{hit.kind}, {hit.trust}: {hit.text}" for hit in memory.newest()), sep="\n")
