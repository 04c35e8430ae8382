"""Records runs of every kind into a folder, as the package that is installed writes them.

    python tests/record_journals.py tests/data/journals

The journals in `tests/data/journals` are the measure of "journals replay": they are recorded once, with the package as
it was then, and never again. A kind that is missing is recorded; a file that exists stays as it is. Two runs go into
`store.db`, one file of SQLite for many runs; all others are a file each. Those whose names begin with `open` broke off.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import sys
import tempfile
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loopwright import (
    Agent,
    Budget,
    ContextPolicy,
    Grounded,
    Guard,
    Journal,
    Memory,
    Model,
    Monitor,
    Research,
    SubAgent,
    tool,
)
from loopwright.guard import Policy
from loopwright.hooks import AddContext, Hook, ModelChoice, Replace, Router, Veto
from loopwright.memory import MemoryPolicy
from loopwright.models import Call, ModelFailure
from loopwright.roles import Role, Sanity
from loopwright.run import Signal
from loopwright.testing import ScriptedModel, WireServer, call, calls, fault, text
from loopwright.tools import builtin_tools

if TYPE_CHECKING:
    from collections.abc import Callable

RECORDED: dict[str, Callable[[Path], Any]] = {}


def recorded(record: Callable[[Path], Any]) -> Callable[[Path], Any]:
    RECORDED[record.__name__] = record
    return record


@tool(read_only=True)
def look(query: str) -> str:
    """Looks something up."""
    return f"what is known of {query}: {len(query)} letters"


@tool
def write(path: str, content: str = "") -> str:
    """Writes a file."""
    return f"wrote {len(content)} characters to {path}"


@tool(risk="confirm")
def remove(path: str) -> str:
    """Removes a file."""
    return f"removed {path}"


@tool(idempotent=True)
def put(n: int) -> str:
    """Puts a number where it belongs."""
    if n < 0:
        raise ValueError(f"{n} is below zero")
    return f"put {n}"


@tool(read_only=True)
def page(n: int) -> str:
    """Reads a page of the manual."""
    lines = [
        f"{n}.{at} The valve {n * 31 + at} opens at {n * 7 + at * 3} bar and closes at {n + at} bar."
        for at in range(40)
    ]
    return "\n".join([f"Page {n}", *lines, f"The number of page {n} is {1_000_003 + 7_919 * n}."])


TOOLS = [look, write, remove, put]


@dataclass
class Invoice:
    number: str
    total: float


def scripted(*steps: Any, tool_format: str | None = None, **options: Any) -> Agent[Any]:
    model = Model(ScriptedModel(list(steps)), retry={"base": 0.01}, tool_format=tool_format)
    return Agent(model, tools=options.pop("tools", TOOLS), **options)


@recorded
def plain(path: Path) -> None:
    scripted("The answer is 42.").run_sync("What is the answer?", journal=path)


@recorded
def tools_in_rounds(path: Path) -> None:
    steps = (call("look", query="tides"), call("write", path="notes.md", content="tides"), "Written down.")
    scripted(*steps).run_sync("Look up the tides and write notes.md.", journal=path)


@recorded
def tools_side_by_side(path: Path) -> None:
    three = calls(Call("look", {"query": "a"}), Call("look", {"query": "b"}), Call("put", {"n": 3}))
    scripted(three, "All three.").run_sync("Look up a and b, and put 3.", journal=path)


@recorded
def tools_that_fail(path: Path) -> None:
    steps = (call("put", n=-1), call("put", n="x"), call("no_such_tool", a=1), call("put", n=1), "Put.")
    scripted(*steps).run_sync("Put it.", journal=path)


@recorded
def approval_given(path: Path) -> None:
    agent = scripted(call("remove", path="old.txt"), "Removed.", guard=lambda _: True)
    agent.run_sync("Remove what is old.", journal=path)


@recorded
def approval_denied_then_other(path: Path) -> None:
    steps = (call("remove", path="/"), call("remove", path="old.txt"), "Only the old one.")
    asked = scripted(*steps, guard=lambda question: question.arguments["path"] != "/" or "not that one")
    asked.run_sync("Remove everything that is old.", journal=path)


@recorded
def approval_aborts(path: Path) -> None:
    scripted(call("remove", path="/"), guard=lambda _: "abort").run_sync("Clean up.", journal=path)


@recorded
def approval_nobody_answers(path: Path) -> None:
    scripted(call("remove", path="old.txt"), "I may not.").run_sync("Clean up.", journal=path)


@recorded
def policy_forbids(path: Path) -> None:
    policy = Policy.from_toml("""
[[rule]]
id = "no-secrets"
verdict = "forbid"
why = "nothing is written there"
path = "secrets/**"
[rule.examples]
match = ["secrets/a.txt"]
no_match = ["a.txt"]
""")
    steps = (call("write", path="secrets/a.txt", content="a"), "I may not write.")
    scripted(*steps, guard=Guard(policy=policy)).run_sync("Write secrets/a.txt.", journal=path)


@recorded
def retries(path: Path) -> None:
    steps = (ModelFailure("busy", "overloaded"), ModelFailure("cut", "cut"), call("look", query="a"), "Done.")
    scripted(*steps).run_sync("Look.", journal=path)


@recorded
def retries_to_another_model(path: Path) -> None:
    first = ScriptedModel([ModelFailure("no such key", "auth")])
    agent = Agent(
        Role(first, fallback=[ScriptedModel([call("look", query="a"), "The other one did it."])]), tools=TOOLS
    )
    agent.run_sync("Look.", journal=path)


@recorded
def compaction(path: Path) -> None:
    steps = [call("page", n=n) for n in range(8)]
    agent = scripted(*steps, call("recall", find="number of page 1"), "Read.", tools=[page], context=4_000)
    agent.run_sync(
        "Read eight pages and tell me their numbers.", journal=path, budget=Budget(rounds=40, tool_rounds=40)
    )


@recorded
def compaction_with_summaries(path: Path) -> None:
    steps = [call("page", n=n) for n in range(12)]
    context = ContextPolicy(budget=5_000, summarizer="rules")
    monitor = Monitor(sanity=Sanity("rules", interval=3, wait=True))
    agent = scripted(*steps, "Read.", tools=[page], context=context, monitor=monitor)
    agent.run_sync("Read twelve pages.", journal=path, budget=Budget(rounds=40, tool_rounds=40))


@recorded
def children_at_once(path: Path) -> None:
    def child(name: str, *steps: Any) -> SubAgent:
        return SubAgent(name, f"looks after the {name}", tools=[look], model=ScriptedModel(list(steps)))

    both = calls(Call("spawn", {"agent": "door", "task": "Look."}), Call("spawn", {"agent": "roof", "task": "Look."}))
    kinds = [child("door", call("look", query="door"), "Open."), child("roof", "Leaking.")]
    agent = scripted(both, "The door is open, the roof leaks.", agents=kinds)
    agent.run_sync("How are the door and the roof?", journal=path)


@recorded
def children_at_a_limit(path: Path) -> None:
    steps = [call("look", query=f"room {n}") for n in range(9)]
    kind = SubAgent("house", "looks after the house", tools=[look], model=ScriptedModel(steps), budget=Budget(rounds=3))
    agent = scripted(calls(Call("spawn", {"agent": "house", "task": "Look at all rooms."})), "Not all.", agents=[kind])
    agent.run_sync("Look at all rooms.", journal=path)


@recorded
def grounded_verified(path: Path) -> None:
    Path("docs").mkdir(exist_ok=True)
    Path("docs/net.md").write_text("# Retries\n\nA failed request is tried again up to 3 times.\n", encoding="utf-8")
    docs = Grounded("offline:extractive", sources=["docs"])
    docs.run_sync("How often is a failed request tried again?", journal=path)


@recorded
def grounded_second_attempt(path: Path) -> None:
    source = "The pump was built in 1931 by Otto Brand. It lifts 40 litres a minute."
    model = ScriptedModel(["It was built in 1950 [1].", "It was built in 1931 by Otto Brand [1]."])
    Grounded(model, sources=[lambda _: source]).run_sync("Who built the pump, and when?", journal=path)


@recorded
def grounded_not_verified(path: Path) -> None:
    model = ScriptedModel([f"It lifts {n} litres a minute [1]." for n in (41, 42, 43)])
    sources = [lambda _: "It lifts 40 litres a minute."]
    Grounded(model, sources=sources).run_sync("How much does the pump lift?", journal=path)


@recorded
def research_by_rules(path: Path) -> None:
    moon = (
        "The moon causes most of the tide. Its pull raises the sea on the near side and on the far side. "
        "High water comes every 12 hours and 25 minutes on most coasts. The tide follows the moon, not the clock."
    )
    sun = (
        "The sun raises tides of 46 percent of the height that the moon raises. At new moon both pull together, and "
        "spring tides are highest. At half moon they pull apart, and neap tides are lowest in the month."
    )
    Research("offline:extractive", corpus=[moon, sun]).run_sync("What causes the tides of the sea?", journal=path)


@recorded
def research_with_a_model(path: Path) -> None:
    def search(query: str, k: int) -> list[dict[str, str]]:
        words = "The moon causes most of the tide. Spring tides come at new moon and at full moon. "
        return [
            {"title": f"Tides {at}", "url": f"tides-{at}", "snippet": query, "text": words * 4}
            for at in range(min(k, 2))
        ]

    steps = ['{"queries": ["tides", "moon and tide"]}', '{"outline": [{"topic": "The moon"}]}', '{"actions": []}']
    model = ScriptedModel([*steps, *["The moon causes most of the tide [1]."] * 8])
    research = Research(model, search=[search], budget=Budget(research_cycles=2))
    research.run_sync("What causes the tides?", journal=path)


@recorded
def hooks_at_their_stages(path: Path) -> None:
    def stay(context: Any) -> Any:
        return Veto("only files of the project") if context.subject.arguments["path"].startswith("/") else None

    hooks = [
        Hook("pre_assess", lambda _: AddContext("It is Sunday.")),
        Hook("pre_tool", stay),
        Hook("post_tool", lambda context: Replace(context.subject.text[:12])),
        Hook("pre_output", lambda context: Replace(context.subject.text + " Goodbye.")),
    ]
    steps = (call("write", path="/etc/passwd"), call("write", path="a.txt"), "Written.")
    scripted(*steps, tools=[write], hooks=hooks).run_sync("Write them.", journal=path)


@recorded
def hooks_choose_a_model(path: Path) -> None:
    def choose(_: Any) -> ModelChoice:
        return ModelChoice("another", 0.9, "it is hard")

    with WireServer([call("look", query="a"), "Chosen."]) as server:
        agent = Agent(Router(choose, default=Model("anthropic:any", base_url=server.url, api_key="none")), tools=TOOLS)
        agent.run_sync("Look.", journal=path)


@recorded
def open_before_a_tool_ended(path: Path) -> None:
    tools_in_rounds(path)
    broken_off(path, 5)


@recorded
def open_while_a_model_was_asked(path: Path) -> None:
    tools_in_rounds(path)
    broken_off(path, 3)


@recorded
def resumed_after_it_broke_off(path: Path) -> None:
    tools_in_rounds(path)
    broken_off(path, 3)
    scripted(call("put", n=7), "Put.").resume_sync(path)


@recorded
def stream_that_broke(path: Path) -> None:
    with WireServer([fault.status(529), text("Hello there, world.").but(fault.cut(after=3)), "Hello again."]) as server:
        agent = Agent(Model("anthropic:any", base_url=server.url, api_key="none", retry={"base": 0.01}))
        asyncio.run(streamed(agent, "Say hello.", path))


@recorded
def stream_interrupted(path: Path) -> None:
    stop = Signal()

    @tool
    async def work() -> str:
        """Works."""
        stop.interrupt()
        await asyncio.sleep(0.01)
        return "some of it"

    with WireServer([call("work"), "Done."]) as server:
        agent = Agent(Model("openai-chat:any", base_url=server.url, api_key="none"), tools=[work])
        asyncio.run(streamed(agent, "Work.", path, signal=stop))


@recorded
def typed_answer(path: Path) -> None:
    steps = ('{"number": "A-7"}', '{"number": "A-7", "total": 12.5}')
    scripted(*steps, tools=[], output_type=Invoice).run_sync("Invoice A-7 over 12.50 euros.", journal=path)


@recorded
def calls_written_into_text(path: Path) -> None:
    written = '<tool_call>\n{"name": "look", "arguments": {"query": "tides"}}\n</tool_call>'
    scripted(f"I look it up.\n{written}", "The moon.", tool_format="hermes").run_sync("Tides?", journal=path)


@recorded
def the_same_again_and_again(path: Path) -> None:
    steps = [call("look", query="same")] * 9
    scripted(*steps).run_sync("Look.", journal=path)


@recorded
def a_limit_of_rounds(path: Path) -> None:
    steps = [
        call("look", query=f"chapter {n}, {word}") for n, word in enumerate(["tide", "moon", "sun", "sea", "salt"])
    ]
    scripted(*steps).run_sync("Look.", journal=path, budget=Budget(tool_rounds=3))


@recorded
def memory_recalled(path: Path) -> None:
    memory = Memory("memory.db")
    memory.remember("Ann lives in Oslo.", "semantic", trust="user")
    scripted("In Oslo.", memory=MemoryPolicy(memory, after=None)).run_sync("Where does Ann live?", journal=path)


@recorded
def roles_of_all_kinds(path: Path) -> None:
    steps = [call("look", query=query) for query in ("a", "b", "c", "d")]
    agent = scripted(
        *steps,
        "All four.",
        context=ContextPolicy(summarizer="rules"),
        monitor=Monitor(sanity=Sanity("rules", interval=2, wait=True)),
        guard=Guard(supervisor="rules"),
    )
    agent.run_sync("Look at all four. Never touch src/lib.rs!", journal=path)


@recorded
def shell_lines(path: Path) -> None:
    lines = ("ls -la", "mkdir -p out && echo hello > out/a.txt", "cat out/a.txt | wc -l", "rm -rf out", "git --version")
    steps = [call("shell", command=line) for line in lines]
    agent = scripted(*steps, "Tidied.", tools=builtin_tools("."), guard=lambda _: True)
    agent.run_sync("Make a file in out, count its lines, and remove out again.", journal=path)


@recorded
def batch_by_uuid(path: Path) -> None:
    @tool
    def approve_order(order: str) -> str:
        """Approves an order."""
        return "ok"

    orders = [str(uuid.UUID(int=(n + 1) * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128)) for n in range(8)]
    steps = [call("approve_order", order=order) for order in orders]
    scripted(*steps, "All eight.", tools=[approve_order]).run_sync(
        "Approve these orders: " + ", ".join(orders), journal=path
    )


@recorded
def call_quoted_from_a_file(path: Path) -> None:
    written = '<tool_call>\n{"name": "write", "arguments": {"path": "a.txt"}}\n</tool_call>'

    @tool(read_only=True)
    def notes() -> str:
        """Reads the notes."""
        return f"The notes say:\n{written}\nThat is all."

    steps = (call("notes"), f"They say:\n{written}", "Written.")
    scripted(*steps, tools=[notes, write]).run_sync("What do the notes say, word for word?", journal=path)


@recorded
def store_two_runs(path: Path) -> None:
    """Both in one file; the second goes on with the conversation of the first."""
    first = scripted(call("look", query="tea"), call("remove", path="a"), "Noted.", guard=lambda _: True)
    said = first.run_sync("I like tea.", journal=path.with_suffix(".db"))
    again = scripted(call("put", n=1), call("put", n=2), "You like tea.")
    again.run_sync("What do I like?", messages=said.messages, journal=path.with_suffix(".db"))
    Journal(path.with_suffix(".db")).close()
    # What stands beside the file goes into it.
    with contextlib.closing(sqlite3.connect(path.with_suffix(".db"))) as store:
        store.execute("PRAGMA wal_checkpoint(TRUNCATE)")


async def streamed(agent: Agent[Any], prompt: str, path: Path, **options: Any) -> None:
    async for _ in agent.stream(prompt, journal=path, **options):
        pass


def broken_off(path: Path, lines: int) -> None:
    """Leaves the first lines of a journal, as if the process had been killed."""
    kept = path.read_text(encoding="utf-8").splitlines(keepends=True)
    if len(kept) <= lines:
        raise SystemExit(f"{path.name} has {len(kept)} lines: nothing would be missing")
    path.write_text("".join(kept[:lines]), encoding="utf-8")


def main(folder: str) -> None:
    place = Path(folder).resolve()
    place.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        for name, record in RECORDED.items():
            path = place / f"{name}.jsonl"
            if path.exists() or path.with_suffix(".db").exists():
                continue
            record(path)
            print(name)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
