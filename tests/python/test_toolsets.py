"""Toolsets: tools that are listed when a run begins, stand in its journal, and cost a run no more than themselves."""

from __future__ import annotations

import asyncio
import json

import pytest
from loopwright import Agent, SubAgent, ToolError, replay, tool
from loopwright.testing import ScriptedModel, call, text
from loopwright.tools import ToolDefinitionError, Toolset


class Shelf(Toolset):
    """A toolset whose tools can be exchanged."""

    def __init__(self, *tools, name="shelf", required=False):
        self.held, self.name, self.required, self.asked = list(tools), name, required, 0

    async def tools(self):
        self.asked += 1
        if self.held and isinstance(self.held[0], Exception):
            raise self.held[0]
        return self.held


@tool
def weigh(part: str) -> str:
    """Weighs a part."""
    return f"{part}: 3 kg"


def seen(result):
    """All that was said in a run, as JSON."""
    return " ".join(message.to_json() for message in result.messages)


def offered(model):
    return [each["function"]["name"] for each in model.requests[0].tools]


def test_tools_are_listed_at_the_start_of_each_run_and_of_none_before():
    shelf = Shelf(weigh)
    agent = Agent(ScriptedModel([call("weigh", part="nut"), text("ok")] * 2), tools=[shelf])
    assert shelf.asked == 0
    for count in (1, 2):
        result = agent.run_sync("Weigh the nut.")
        assert (result.final, shelf.asked) == ("ok", count)
        assert "nut: 3 kg" in seen(result)
    assert len(agent._plans) == 2  # that of the agent alone, and one for what was listed


def test_in_an_event_loop_and_as_a_stream():
    agent = Agent(ScriptedModel([call("weigh", part="nut"), text("ok")] * 3), tools=[Shelf(weigh)])

    async def go():
        assert (await agent.run("Weigh the nut.")).final == "ok"
        assert agent.run_sync("Weigh the nut.").final == "ok"
        return [type(event).__name__ async for event in agent.stream("Weigh the nut.")]

    assert "ToolFinished" in asyncio.run(go())


def test_a_listing_that_fails_costs_its_tools_and_tells_the_model_why():
    down = Shelf(ToolError("nobody listens at port 9", "refused", "start it"), name="far")
    model = ScriptedModel([call("far"), call("weigh", part="nut"), text("ok")])
    result = Agent(model, tools=[down, weigh]).run_sync("Weigh the nut.")
    assert result.final == "ok"
    assert "unreachable" in seen(result)
    assert "nobody listens at port 9" in seen(result)


def test_a_required_one_fails_the_run_before_it_begins():
    down = Shelf(ToolError("nobody listens", "refused"), required=True)
    model = ScriptedModel([text("never")])
    with pytest.raises(ToolError, match="nobody listens"):
        Agent(model, tools=[down]).run_sync("Hello.")
    assert not model.requests


def test_tools_of_one_name_are_named_after_their_toolsets_and_functions_keep_theirs():
    @tool(name="weigh")
    def other(part: str) -> str:
        """Another."""
        return "other"

    @tool(name="lift")
    def lift() -> str:
        """Lifts."""
        return "up"

    model = ScriptedModel([call("weigh", part="nut"), text("ok")])
    agent = Agent(model, tools=[weigh, Shelf(other, lift, name="a"), Shelf(lift, name="b")])
    result = agent.run_sync("Weigh the nut.")
    assert offered(model) == ["weigh", "a_weigh", "a_lift", "b_lift"]
    assert "nut: 3 kg" in seen(result)


def test_a_run_is_resumed_without_being_listed_anew_and_its_tools_are_found_when_called(tmp_path):
    path = tmp_path / "run.jsonl"
    shelf = Shelf(weigh)
    agent = Agent(ScriptedModel([call("weigh", part="nut"), text("ok")]), tools=[shelf])
    agent.run_sync("Weigh the nut.", journal=path)
    lines = path.read_text().splitlines()
    assert json.loads(lines[0])["machine"]["turn"]["tools"][0]["name"] == "weigh"
    assert replay(path).identical
    cut = tmp_path / "cut.jsonl"
    cut.write_text("\n".join(lines[:2]) + "\n")
    again = Shelf(weigh)
    other = Agent(ScriptedModel([call("weigh", part="nut"), text("again")]), tools=[again])
    result = other.resume_sync(cut)
    assert result.final == "again"
    assert "nut: 3 kg" in seen(result)
    assert again.asked == 1  # when it was called, not when the run was taken up


@pytest.mark.parametrize(("held", "code"), [("changed", "tool_changed"), ("gone", "tool_gone")])
def test_a_resumed_run_calls_no_tool_that_is_another_one_now(tmp_path, held, code):
    path = tmp_path / "run.jsonl"
    Agent(ScriptedModel([text("ok")]), tools=[Shelf(weigh)]).run_sync("Weigh.", journal=path)

    @tool(name="weigh")
    def other(part: str, send_to: str) -> str:
        """Weighs a part and sends it on."""
        raise AssertionError

    cut = tmp_path / "cut.jsonl"
    cut.write_text("\n".join(path.read_text().splitlines()[:2]) + "\n")
    agent = Agent(
        ScriptedModel([call("weigh", part="nut"), text("again")]),
        tools=[Shelf(*([other] if held == "changed" else []))],
    )
    result = agent.resume_sync(cut)
    assert result.final == "again"
    assert code in seen(result)


def test_sub_agents_have_toolsets_too():
    shelf = Shelf(weigh)
    worker = ScriptedModel([call("weigh", part="nut"), text("3 kg")])
    helper = SubAgent("helper", "weighs things", model=worker, tools=[shelf])
    agent = Agent(ScriptedModel([call("spawn", agent="helper", task="Weigh the nut."), text("done")]), agents=[helper])
    result = agent.run_sync("Let somebody weigh the nut.")
    assert result.final == "done"
    assert shelf.asked == 1
    assert offered(worker) == ["weigh"]


@tool
def delete(part: str) -> str:
    """Deletes a part."""
    return f"{part} is gone"


def test_toolsets_are_prefixed_renamed_and_shown_in_part(tmp_path):
    shelf = Shelf(weigh, delete)
    for seen_through, names in [
        (shelf.prefixed("gh"), ["gh_weigh", "gh_delete"]),
        (shelf.renamed({"weigh": "heft"}), ["heft", "delete"]),
        (shelf.filtered(lambda each: each.name.startswith("w")), ["weigh"]),
        (shelf.without("weigh"), ["delete"]),
        (shelf.without("weigh").prefixed("a").prefixed("b"), ["b_a_delete"]),
        (shelf.prefixed("x" * 60), ["x" * 60 + "_wei", "x" * 60 + "_del"]),
    ]:
        model = ScriptedModel([call(names[0], part="nut"), text("ok")] * 2)
        agent = Agent(model, tools=[seen_through], guard=lambda _: True, journal=tmp_path)
        result = agent.run_sync("Go on.")
        assert (offered(model), result.tool_calls[0].failure, result.final) == (names, None, "ok")
        agent.run_sync("Go on.")
        assert len(agent._plans) == 2, "the same tools make no plan of their own"
        assert replay(result.journal, result.run_id).divergence is None
    assert [each.name for each in shelf.held] == ["weigh", "delete"]


def test_a_toolset_with_another_risk_is_asked_about():
    shelf = Shelf(weigh, delete)

    def run(tools):
        asked = []

        def approve(question):
            asked.append(question.name)
            return True

        model = ScriptedModel([call("weigh", part="a"), call("delete", part="b"), text("ok")])
        assert Agent(model, tools=[tools], guard=approve).run_sync("Weigh a, delete b.").final == "ok"
        return asked

    usual = run(shelf)
    assert run(shelf.with_risk("dangerous")) == ["weigh", "delete"]
    assert run(shelf.with_risk("dangerous", "weigh")) == ["weigh", *usual]
    assert weigh.risk == "cautious"


def test_views_that_can_not_be_are_refused_and_unknown_names_are_told(caplog):
    shelf = Shelf(weigh)
    for wrong in (
        lambda: shelf.prefixed("a b"),
        lambda: shelf.prefixed(""),
        lambda: shelf.renamed({"weigh": "no name"}),
        lambda: shelf.with_risk("huge"),
        lambda: shelf.filtered("weigh"),
    ):
        with pytest.raises(ToolDefinitionError):
            wrong()
    Agent(ScriptedModel([text("ok")]), tools=[shelf.renamed({"wiegh": "heft"})]).run_sync("?")
    assert "no tool named 'wiegh'" in caplog.text


def test_no_toolset_takes_the_name_of_a_tool_of_the_engine():
    @tool(name="spawn")
    def other(part: str) -> str:
        """Not the engine's."""
        return part

    model = ScriptedModel([text("ok")])
    Agent(model, tools=[Shelf(other)], agents=[SubAgent("explore", "Explores.", instructions="Explore.")]).run_sync("?")
    assert sorted(offered(model)) == ["shelf_spawn", "spawn"]


def resumed(tmp_path, name, told, later):
    """What a run says that was told of `told`, and calls a tool of that name when it goes on with `later`."""
    path = tmp_path / "run.jsonl"
    Agent(ScriptedModel([text("ok")]), tools=told).run_sync("Weigh.", journal=path)
    cut = tmp_path / "cut.jsonl"
    cut.write_text("\n".join(path.read_text().splitlines()[:2]) + "\n")
    model = ScriptedModel([call(name, part="nut"), text("ok")])
    return seen(Agent(model, tools=later, guard=lambda _: True).resume_sync(cut))


def test_a_call_goes_to_the_toolset_that_the_run_was_told_of_or_to_none(tmp_path):
    ran = []

    def weighing(where):
        def weigh(part: str) -> str:
            """Weighs a part."""
            ran.append(where)
            return "3 kg"

        return tool(weigh)

    staging, prod = Shelf(weighing("staging"), name="staging"), Shelf(weighing("prod"), name="prod")
    down = Shelf(OSError("down"), name="prod")
    for later, where, word in [
        ([staging, prod], ["prod"], "3 kg"),
        ([staging, down], [], "unreachable"),
        ([staging], [], "tool_gone"),
    ]:
        folder = tmp_path / word.replace(" ", "_")
        folder.mkdir()
        ran.clear()
        assert word in resumed(folder, "prod_weigh", [staging, prod], later)
        assert ran == where


def test_a_tool_that_became_riskier_is_not_called_by_a_resumed_run(tmp_path):
    riskier = Shelf(weigh).with_risk("confirm")
    assert "tool_changed" in resumed(tmp_path, "weigh", [Shelf(weigh)], [riskier])


def test_views_of_views_keep_what_each_of_them_changed():
    shelf = Shelf(weigh)
    first = asyncio.run(shelf.prefixed("gh").tools())
    second = asyncio.run(shelf.with_risk("dangerous").prefixed("gh").tools())
    assert [(each.name, each.risk) for each in (*first, *second)] == [
        ("gh_weigh", "cautious"),
        ("gh_weigh", "dangerous"),
    ]
    assert asyncio.run(shelf.with_risk("dangerous").prefixed("gh").tools()) == second
