"""Functions as outputs: the model answers with their arguments, and what they give is the output."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from loopwright import Agent, Guard, Output, RunContext, ToolError, UsageError, replay, tool
from loopwright.testing import ScriptedModel, call, calls, text
from loopwright.tools import InvalidOutput
from ways import agent_at, run

Rows = list[dict[str, int]]
PEOPLE = [{"people": 717_710}]


class Table:
    """Not plain data: only a function can make it."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows


@dataclass
class Db:
    rows: Rows


def run_sql(query: str) -> Rows:
    """Runs a query.

    Args:
        query: One SELECT.
    """
    if not query.startswith("SELECT"):
        raise ToolError("only SELECT is allowed", hint="write one SELECT")
    return PEOPLE


def test_what_a_function_gives_is_the_output(serve: Any, wire: str, way: str) -> None:
    server = serve(call("run_sql", query="the people"), call("run_sql", query="SELECT people"))
    agent = agent_at(server, wire, output_type=Annotated[Rows, Output(call=run_sql)])
    result, _ = run(agent, "How many?", way, journal=True)
    assert server.refusals == []
    assert result.output == PEOPLE
    assert (result.final, result.stop_reason, result.rounds) == ('[{"people":717710}]', "natural", 2)
    assert [each.arguments for each in result.tool_calls] == [{"query": "the people"}, {"query": "SELECT people"}]
    asked, again = (str(each["body"]) for each in server.requests)
    assert "One SELECT." in asked
    assert "write one SELECT" in again
    assert replay(result.journal).identical


def test_it_may_be_async_take_the_context_and_give_what_is_no_data(way: str) -> None:
    async def table(context: RunContext[Db], least: int) -> Table:
        """The rows that have so many people."""
        await asyncio.sleep(0)
        return Table([row for row in context.deps.rows if row["people"] >= least])

    model = ScriptedModel([call("table", least=3)])
    agent = Agent(model, output_type=Annotated[Table, Output(call=table)], deps_type=Db)
    result, _ = run(agent, "go", way, deps=Db(PEOPLE))
    assert isinstance(result.output, Table)
    assert (result.output.rows, result.final) == (PEOPLE, "The answer is taken.")
    (schema,) = [each["schema"] for each in agent.tools.definitions()]
    assert list(schema["properties"]) == ["least"]


def test_mistakes_and_faults_are_attempts_and_never_a_lost_run(way: str, caplog: pytest.LogCaptureFixture) -> None:
    def share(of: int) -> float:
        """A share."""
        return 1 / of

    asked = Annotated[float, Output(call=share, attempts=3)]
    script = [call("share", of="many"), call("share", of=0), call("share", of=4)]
    result, _ = run(Agent(ScriptedModel(script), output_type=asked), "go", way)
    assert (result.output, result.final, result.rounds) == (0.25, "0.25", 3)
    script = [call("share", of=0)] * 3
    with pytest.raises(InvalidOutput, match="ZeroDivisionError") as caught:
        run(Agent(ScriptedModel(script), output_type=asked), "go", way)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert caught.value.result is not None
    assert caught.value.result.rounds == 3
    assert "share raised an exception" in caplog.text


def test_words_are_no_call_of_it() -> None:
    asked = Annotated[str, Output(call=str.upper, name="shout")]
    with pytest.raises(UsageError):
        Agent(ScriptedModel([]), output_type=asked)

    def shout(words: str) -> str:
        """Says it loud."""
        return words.upper()

    model = ScriptedModel(["hello", call("shout", words="hello")])
    agent = Agent(model, output_type=Annotated[str, Output(call=shout)])
    assert agent.run_sync("go").output == "HELLO"
    model = ScriptedModel(["hello"] * 3)
    with pytest.raises(InvalidOutput, match="no call of"):
        agent.clone(model=model).run_sync("go")


def test_a_tool_keeps_its_risk_and_its_time() -> None:
    made: list[int] = []

    @tool(risk="confirm", timeout=5)
    def pay(amount: int) -> int:
        """Pays."""
        made.append(amount)
        return amount

    answers = iter(["not so much", True])
    model = ScriptedModel([call("pay", amount=500), call("pay", amount=5)])
    agent = Agent(model, output_type=Annotated[int, Output(call=pay)], guard=Guard(approve=lambda _: next(answers)))
    assert (agent.run_sync("go").output, made) == (5, [5])
    assert pay.answers is None
    assert "the run ends" not in pay.description


def test_streams_and_sub_agents_have_it_too(serve: Any, wire: str) -> None:
    asked = Annotated[Rows, Output(call=run_sql)]
    server = serve(call("run_sql", query="SELECT people"))
    with agent_at(server, wire, output_type=asked).stream_sync("go") as stream:
        (partial,) = stream.outputs()
    assert (partial.value, partial.done) == (PEOPLE, True)
    server = serve(call("run_sql", query="SELECT people"))
    with agent_at(server, wire, output_type=asked).stream_sync("go") as stream:
        assert list(stream.items()) == PEOPLE
    server = serve(call("spawn", agent="db", task="Count."), call("run_sql", query="SELECT people"), text("Done."))
    db = agent_at(server, wire, name="db", description="Knows numbers.", output_type=asked)
    result = agent_at(server, wire, agents=[db]).run_sync("go")
    assert result.output == "Done."
    assert result.children[0].final == '[{"people":717710}]'


def test_what_a_function_can_not_be_is_said_at_once() -> None:
    with pytest.raises(UsageError, match="function"):
        Output(call=run_sql, mode="native")
    with pytest.raises(UsageError, match="call of an Output"):
        Output(call="run_sql")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="run_sql"):
        Agent(ScriptedModel([]), tools=[run_sql], output_type=Annotated[Rows, Output(call=run_sql)])
    assert Output(call=run_sql) == Output(call=run_sql) != Output()


def test_a_hook_that_changes_the_answer_is_heard() -> None:
    from loopwright.hooks import Hook, HookContext, Replace

    def none(_: HookContext) -> Replace:
        return Replace('[{"people": 0}]')

    hooks = [Hook("pre_output", none)]
    agent = Agent(
        ScriptedModel([call("run_sql", query="SELECT people")]),
        output_type=Annotated[Rows, Output(call=run_sql)],
        hooks=hooks,
    )
    assert agent.run_sync("go").output == [{"people": 0}]


def test_of_several_answers_at_once_the_first_counts() -> None:
    @tool(read_only=True)
    def table(number: int) -> Table:
        """A table."""
        return Table([{"people": number}])

    model = ScriptedModel([calls(call("table", number=1), call("table", number=2))])
    result = Agent(model, output_type=Annotated[Table, Output(call=table)]).run_sync("go")
    assert result.output.rows == [{"people": 1}]
