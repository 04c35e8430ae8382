"""Runs step by step: what the model answered, each call before it runs, the end; and what is said meanwhile."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any

import pytest
from loopwright import Agent, Budget, Grounded, Guard, Journal, Message, Output, ToolError, UsageError, replay, tool
from loopwright.hooks import Hook, HookContext, Replace
from loopwright.run import EndStep, ModelStep, ToolStep
from loopwright.testing import ScriptedModel, call, calls, text
from ways import agent_at

done: list[Any] = []


@pytest.fixture(autouse=True)
def _nothing_done() -> None:
    done.clear()


@tool
def delete(name: str) -> str:
    """Deletes."""
    done.append(name)
    return f"deleted {name}"


@tool(read_only=True)
async def look(at: str) -> str:
    """Looks."""
    done.append(at)
    return f"seen {at}"


def of(*script: Any, **options: Any) -> Agent[None, Any]:
    return Agent(ScriptedModel(list(script)), **{"tools": [delete, look], **options})


def test_steps_come_one_by_one_and_calls_wait_for_them(serve: Any, wire: str) -> None:
    server = serve(calls(call("delete", name="a"), call("look", at="b"), call("look", at="c")), text("Done."))
    seen: list[Any] = []

    async def main() -> Any:
        async with agent_at(server, wire, tools=[delete, look]).iter("go", journal=True) as run:
            async for step in run:
                await asyncio.sleep(0.02)
                seen.append((step.type, list(done)))
                match step:
                    case ModelStep():
                        assert step.messages[-1] == step.message
                        assert step.usage["input"] > 0
                        assert len(server.requests) == step.round
                    case ToolStep():
                        assert step.round == 1
                    case EndStep():
                        assert step.result.output == "Done."
        return run.result

    result = asyncio.run(main())
    assert server.refusals == []
    assert [kind for kind, _ in seen] == ["model", "tool", "tool", "tool", "model", "end"]
    assert [each for _, each in seen[:3]] == [[], [], ["a"]]
    assert done == ["a", "b", "c"]
    assert result.ok
    assert replay(result.journal).identical


def test_a_call_is_answered_or_denied_in_its_place(serve: Any, wire: str) -> None:
    server = serve(calls(call("delete", name="a"), call("delete", name="b"), call("delete", name="c")), text("Done."))

    async def main() -> Any:
        async with agent_at(server, wire, tools=[delete]).iter("go", journal=True) as run:
            async for step in run:
                if step.type == "tool" and step.arguments == {"name": "a"}:
                    step.deny("not today")
                    with pytest.raises(UsageError) as caught:
                        step.answer("after all")
                    assert caught.value.code == "decided_before"
                elif step.type == "tool" and step.arguments == {"name": "b"}:
                    step.answer({"was": "there"})
        with pytest.raises(UsageError, match="has ended"):
            run.send("Too late.")
        return run.result

    result = asyncio.run(main())
    assert server.refusals == []
    assert done == ["c"]
    assert [each.failure for each in result.tool_calls] == ["denied", None, None]
    assert "not today" in (result.tool_calls[0].result or "")
    assert [each.result for each in result.tool_calls[1:]] == ['{"was":"there"}', "deleted c"]
    assert replay(result.journal).identical


def test_leaving_ends_the_run_and_no_further_call_runs() -> None:
    async def main() -> Any:
        agent = of(calls(call("delete", name="a"), call("delete", name="b")), "never")
        async with agent.iter("go", journal=True) as run:
            async for step in run:
                if step.type == "tool" and step.arguments["name"] == "b":
                    break
        await asyncio.sleep(0.05)
        return run.result

    result = asyncio.run(main())
    assert (done, result.stop_reason) == (["a"], "cancelled")
    assert [each.failure for each in result.tool_calls] == [None, "cancelled"]
    assert replay(result.journal).identical


def test_what_is_said_stands_before_the_next_round(serve: Any, wire: str) -> None:
    server = serve(call("delete", name="a"), text("Done."), text("Bergen, too."), text("Anything else?"))

    async def main() -> Any:
        async with agent_at(server, wire, tools=[delete]).iter("go", journal=True) as run:
            async for step in run:
                if step.type == "tool":
                    run.send("Be quick.")
                elif step.type == "model" and step.message.text == "Done.":
                    run.send("And Bergen?")
        return run.result

    result = asyncio.run(main())
    assert server.refusals == []
    assert [each.text for each in result.messages if each.text] == [
        "go", "Be quick.", "Done.", "And Bergen?", "Bergen, too.",
    ]  # fmt: skip
    assert "Be quick." in str(server.requests[1]["body"])
    assert (result.output, result.rounds) == ("Bergen, too.", 3)


@pytest.mark.parametrize("way", ["stream", "start"])
def test_a_stream_and_a_handle_hear_it_too(way: str, tmp_path: Path) -> None:
    async def main() -> Any:
        agent = of(call("look", at="a"), "Done.", "Quickly done.")
        if way == "start":
            run = agent.start("go", journal=tmp_path / "runs.db")
            run.send("Be quick.")
            result = await run
            with pytest.raises(UsageError) as caught:
                run.send("Too late.")
            assert caught.value.code == "run_ended"
            return result
        async with agent.stream("go", journal=tmp_path / "runs.db") as stream:
            async for event in stream:
                if event.type == "text_delta" and event.text.startswith("Done"):
                    # The request for it is out: there is one more.
                    stream.send("Be quick.")
        return stream.result

    result = asyncio.run(main())
    assert result.output == ("Done." if way == "start" else "Quickly done.")
    assert "Be quick." in [each.text for each in result.messages]
    assert [each.id for each in Journal(tmp_path / "runs.db").runs()]
    assert replay(tmp_path / "runs.db", result.run_id).identical


def test_what_is_said_is_the_users_word_and_grants_what_it_names() -> None:
    @tool
    def run_command(command: str) -> str:
        """Runs a command."""
        return "ran"

    def judged(words: str) -> str | None:
        async def main() -> Any:
            model = ScriptedModel([call("look", at="x"), call("run_command", command="rm -r build"), "Done."])
            agent = Agent(model, tools=[look, run_command], guard=Guard(approve=lambda _: False))
            async with agent.iter("Look around.") as run:
                async for step in run:
                    if step.type == "tool" and step.name == "look":
                        run.send(words)
            return run.result

        found: str | None = asyncio.run(main()).tool_calls[1].failure
        return found

    begun = Agent(
        ScriptedModel([call("run_command", command="rm -r build"), "Done."]),
        tools=[run_command],
        guard=Guard(approve=lambda _: False),
    )
    assert (
        judged("Please delete the build folder.")
        == begun.run_sync("Please delete the build folder.").tool_calls[0].failure
    )
    assert judged("Go on.") == "denied"


def test_the_time_stands_still_while_a_step_is_looked_at() -> None:
    async def main() -> Any:
        async with of(call("look", at="a"), "Done.", budget=Budget(wall_time=0.4)).iter("go") as run:
            async for _ in run:
                await asyncio.sleep(0.25)
        return run.result

    result = asyncio.run(main())
    assert (result.stop_reason, result.output) == ("natural", "Done.")


def test_an_error_is_raised_where_the_next_step_is_asked_for() -> None:
    def rows(query: str) -> list[int]:
        """Rows."""
        raise ToolError("no such table")

    async def main() -> list[str]:
        seen: list[str] = []
        agent = of(call("rows", query="x"), tools=[], output_type=Annotated[list[int], Output(call=rows, attempts=1)])
        with pytest.raises(Exception, match="no such table"):
            async with agent.iter("go") as run:
                async for step in run:
                    seen.append(step.type)
        assert run.result.error is not None
        return seen

    assert asyncio.run(main()) == ["model", "tool"]


def test_an_answer_of_a_type_and_one_that_a_step_gives() -> None:
    def rows(query: str) -> list[int]:
        """Rows."""
        done.append(query)
        return [1]

    async def main(agent: Agent[None, Any]) -> Any:
        async with agent.iter("go") as run:
            async for step in run:
                if step.type == "tool":
                    step.answer([2])
        return run.result.output

    asked = Annotated[list[int], Output(call=rows)]
    assert asyncio.run(main(of(call("rows", query="x"), tools=[], output_type=asked))) == [2]
    typed = of(call("final_answer", value=[3]), tools=[], output_type=Annotated[list[int], Output(mode="tool")])
    assert asyncio.run(main(typed)) == [3]
    assert done == []


def test_hooks_change_an_answer_before_it_is_a_step() -> None:
    def louder(context: HookContext) -> Replace:
        return Replace(context.subject.text.upper())

    async def main() -> list[str]:
        agent = of("done.", hooks=[Hook("post_llm", louder)])
        async with agent.iter("go") as run:
            return [step.message.text async for step in run if step.type == "model"]

    assert asyncio.run(main()) == ["DONE."]


def test_others_hear_nothing_more(docs: Path) -> None:
    async def main() -> None:
        async with Grounded("offline:extractive", sources=[docs]).stream("How often?") as stream:
            with pytest.raises(UsageError) as caught:
                stream.send("And now?")
            assert caught.value.code == "no_conversation"
        with pytest.raises(UsageError):
            async with of("a").iter("go") as run:
                run.send("  ")

    asyncio.run(main())


def test_what_is_said_comes_before_the_next_request_wherever_that_is() -> None:
    async def main() -> list[list[str]]:
        found = []
        async with of("a").iter("go") as run:
            run.send("first")
            assert [step.type async for step in run] == ["model", "end"]
        found.append([each.text for each in run.result.messages])
        typed = of("nope", "3", output_type=int)
        async with typed.iter("go") as run:
            async for step in run:
                if step.type == "model" and step.round == 1:
                    run.send("a number")
        found.append([each.text for each in run.result.messages])
        with pytest.raises(UsageError, match="assistant"):
            of("a").stream("go").send(Message("assistant", "x"))
        return found

    first, typed = asyncio.run(main())
    assert first == ["go", "first", "a"]
    assert [typed[0], typed[1], typed[3], typed[4]] == ["go", "nope", "a number", "3"]


def test_the_calls_of_whoever_goes_on_are_steps_too() -> None:
    async def main() -> Any:
        desk = of(call("look", at="x"), "Bye.", name="desk")
        async with of(call("transfer_to_desk"), tools=[], handoffs=[desk]).iter("go") as run:
            return [(step.type, getattr(step, "round", None)) async for step in run]

    assert asyncio.run(main()) == [("model", 1), ("tool", 1), ("model", 2), ("tool", 2), ("model", 3), ("end", None)]
