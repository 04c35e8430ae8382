"""Tools that are asked for before each request, and calls that a function has a person asked about."""

from __future__ import annotations

import asyncio

import pytest
from loopwright import Agent, Edit, Guard, Model, RunContext, SubAgent, replay, tool
from loopwright.testing import ScriptedModel, call, text
from loopwright.tools import Tool, ToolDefinitionError, Toolset, WebSearch


@tool
def look(place: str) -> str:
    """Looks at a place."""
    return f"{place} is fine"


@tool
def log_in(user: str) -> str:
    """Logs a user in."""
    return f"hello {user}"


@tool
def pay(amount: int) -> str:
    """Pays an amount."""
    return f"{amount} paid"


def names(request):
    return [each["function"]["name"] for each in request.tools]


def seen(result):
    return " ".join(message.to_json() for message in result.messages)


def allow(_):
    return True


class Door(Toolset):
    """Offers to log in, and after that to pay."""

    name = "door"

    def __init__(self):
        self.asked = []

    async def tools(self, context: RunContext):
        self.asked.append(context.round)
        return [pay] if "hello" in " ".join(m.to_json() for m in context.messages) else [log_in]


def script():
    return ScriptedModel([call("log_in", user="ann"), call("pay", amount=5), call("log_in", user="bob"), text("done")])


def test_what_is_offered_is_asked_before_each_request_and_a_tool_that_went_is_answered_with_a_reason():
    door, model = Door(), script()
    result = Agent(model, tools=[look, door], guard=allow).run_sync("Pay 5.")
    assert [names(request) for request in model.requests] == [["look", "log_in"], *[["look", "pay"]] * 3]
    assert [each.failure for each in result.tool_calls] == [None, None, "tool_withdrawn"]
    assert "5 paid" in seen(result)
    assert door.asked == [0, 1, 2, 3]


@pytest.mark.parametrize("way", ["sync", "async", "stream"])
def test_a_function_of_the_run_is_a_toolset_too(way):
    def listing(context):
        return [pay] if context.deps == "admin" else []

    model = ScriptedModel([text("done")] * 2)
    agent = Agent(model, tools=[look, Toolset(listing)])
    for deps in ("admin", "guest"):
        if way == "sync":
            agent.run_sync("?", deps=deps)
        elif way == "async":
            asyncio.run(agent.run("?", deps=deps))
        else:
            list(agent.stream_sync("?", deps=deps))
    assert [names(request) for request in model.requests] == [["look", "pay"], ["look"]]


def test_it_is_an_event_where_it_changes_and_a_replay_asks_nobody(tmp_path):
    path = tmp_path / "run.jsonl"
    door = Door()
    Agent(script(), tools=[look, door], guard=allow).run_sync("Pay 5.", journal=path)
    asked = len(door.asked)
    assert replay(path).identical
    assert len(door.asked) == asked
    lines = path.read_text().splitlines()
    offers = [line for line in lines if '"hooked"' in line and '"offer"' in line]
    assert len(offers) == 2, "four requests, two changes"


def test_a_run_goes_on_from_every_line_with_what_it_was_told_of(tmp_path):
    path = tmp_path / "run.jsonl"
    Agent(script(), tools=[look, Door()], guard=allow).run_sync("Pay 5.", journal=path)
    lines = path.read_text().splitlines()
    for kept in range(2, len(lines)):
        cut = tmp_path / f"cut{kept}.jsonl"
        cut.write_text("\n".join(lines[:kept]) + "\n")
        told = sum('"generated"' in line for line in lines[:kept])
        rest = [call("log_in", user="ann"), call("pay", amount=5), call("log_in", user="bob"), text("done")][told:]
        result = Agent(ScriptedModel(rest), tools=[look, Door()], guard=allow).resume_sync(cut)
        assert result.final == "done", kept
        assert [each.failure for each in result.tool_calls] == [None, None, "tool_withdrawn"], kept


def test_prepared_changes_or_leaves_out_tools_of_a_round():
    def change(context, each):
        if context.round == 0 and each.name == "pay":
            return None
        return each

    model = ScriptedModel([call("look", place="a"), text("done")])
    Agent(model, tools=[Toolset([look, pay]).prepared(change)], guard=allow).run_sync("?")
    assert [names(request) for request in model.requests] == [["look"], ["look", "pay"]]
    with pytest.raises(ToolDefinitionError):
        Toolset([look]).prepared("no")
    with pytest.raises(ToolDefinitionError):
        Toolset(look)


def test_what_stays_keeps_its_place_and_what_is_new_stands_behind_it():
    def listing(context):
        return [pay, log_in] if context.round else [log_in]

    model = ScriptedModel([call("look", place="a"), text("done")])
    Agent(model, tools=[Toolset(listing), look], guard=allow).run_sync("?")
    assert [names(request) for request in model.requests] == [["look", "log_in"], ["look", "log_in", "pay"]]


def test_one_that_raises_costs_its_tools_and_one_that_hangs_no_more(monkeypatch):
    from loopwright.tools import _each_round

    monkeypatch.setattr(_each_round, "_EACH", 0.2)

    async def hangs(_):
        await asyncio.sleep(60)

    def raises(_):
        raise OSError("no way there")

    model = ScriptedModel([call("far"), call("slow"), text("done")])
    agent = Agent(model, tools=[look, Toolset(raises, name="far"), Toolset(hangs, name="slow")], guard=allow)
    result = agent.run_sync("?")
    assert result.final == "done"
    assert [each.failure for each in result.tool_calls] == ["unreachable", "unreachable"]
    assert "no way there" in seen(result)


def test_names_that_are_taken_are_told_apart_and_what_is_found_by_search_may_change_too():
    def listing(context):
        return [pay, look] if context.round else [look]

    model = ScriptedModel([call("find_tools", query="looks"), call("find_tools", query="pay"), text("done")])
    Agent(model, tools=[look, Toolset(listing, name="more").found_by_search()], guard=allow).run_sync("?")
    assert [names(request) for request in model.requests] == [
        ["look", "find_tools"],
        ["look", "find_tools", "more_look"],
        ["look", "find_tools", "more_look", "pay"],
    ]


def test_what_comes_stands_behind_what_was_found_and_behind_tools_of_the_provider(serve):
    def listing(context):
        return [pay, log_in] if context.round > 1 else [log_in]

    server = serve(call("find_tools", query="looks"), call("look", place="a"), text("done"))
    model = Model("anthropic:claude-sonnet-4-5", base_url=server.url, api_key="k")
    found = Toolset([look], name="more").found_by_search()
    Agent(model, tools=[WebSearch(), found, Toolset(listing)], guard=allow).run_sync("?")
    told = [[each["name"] for each in request["body"]["tools"]] for request in server.requests]
    assert told == [
        ["find_tools", "web_search", "log_in"],
        ["find_tools", "web_search", "log_in", "look"],
        ["find_tools", "web_search", "log_in", "look", "pay"],
    ]


def test_sub_agents_are_asked_for_their_own():
    door = Door()
    worker = ScriptedModel([call("log_in", user="ann"), call("pay", amount=5), text("worked")])
    helper = SubAgent("helper", "helps", model=worker, tools=[door])
    model = ScriptedModel([call("spawn", agent="helper", task="Pay."), text("done")])
    result = Agent(model, agents=[helper], guard=allow).run_sync("Go.")
    assert result.final == "done"
    assert [names(request) for request in worker.requests] == [["log_in"], ["pay"], ["pay"]]
    assert names(model.requests[1]) == ["spawn"]


# ---- asking ----


def asked_in(tools, calls_, approve=True, **options):
    asked = []

    def person(question):
        asked.append((question.name, question.arguments))
        return approve

    model = ScriptedModel([*calls_, text("done")])
    result = Agent(model, tools=tools, guard=Guard(approve=person), **options).run_sync("Go.")
    return asked, result


def test_a_person_is_asked_about_a_tool_whatever_the_guard_says():
    @tool(read_only=True)
    def peek(place: str) -> str:
        """Peeks."""
        return place

    assert asked_in([peek], [call("peek", place="a")])[0] == []
    asked, result = asked_in([Toolset([peek]).asking()], [call("peek", place="a")])
    assert asked == [("peek", {"place": "a"})]
    assert result.tool_calls[0].failure is None
    asked, result = asked_in([Toolset([peek]).asking("peek")], [call("peek", place="a")], approve="not now")
    assert result.tool_calls[0].failure == "denied"


def test_when_says_which_calls_are_asked_about(tmp_path):
    @tool(read_only=True)
    def move(amount: int) -> str:
        """Moves."""
        return str(amount)

    async def large(context, made):
        return made.arguments["amount"] > context.deps

    path = tmp_path / "run.jsonl"
    asked = []
    script_ = [call("move", amount=5), call("move", amount=500), text("done")]

    def person(question):
        asked.append(question.arguments["amount"])
        return False

    agent = Agent(ScriptedModel(script_), tools=[Toolset([move]).asking(when=large)], guard=Guard(approve=person))
    result = agent.run_sync("Go.", deps=100, journal=path)
    assert asked == [500]
    assert [each.failure for each in result.tool_calls] == [None, "denied"]
    assert replay(path).identical
    lines = path.read_text().splitlines()
    for kept in range(2, len(lines)):
        asked.clear()
        cut = tmp_path / f"cut{kept}.jsonl"
        cut.write_text("\n".join(lines[:kept]) + "\n")
        rest = script_[sum('"generated"' in line for line in lines[:kept]) :]
        again = Agent(ScriptedModel(rest), tools=[Toolset([move]).asking(when=large)], guard=Guard(approve=person))
        result = again.resume_sync(cut, deps=100)
        assert [each.failure for each in result.tool_calls] == [None, "denied"], kept


def test_a_function_that_raises_has_a_person_asked():
    def broken(*_):
        raise ZeroDivisionError

    asked, _ = asked_in([Toolset([look]).asking(when=broken)], [call("look", place="a")])
    assert asked == [("look", {"place": "a"})]
    with pytest.raises(ToolDefinitionError):
        Toolset([look]).asking(when="always")
    assert isinstance(look, Tool)


def test_one_that_is_late_has_a_person_asked_and_so_has_a_call_that_a_person_changed(monkeypatch):
    from loopwright.tools import _asking

    monkeypatch.setattr(_asking, "_LONGEST", 0.2)

    async def hangs(*_):
        await asyncio.sleep(60)

    asked, result = asked_in([Toolset([look]).asking(when=hangs)], [call("look", place="a")])
    assert [name for name, _ in asked] == ["look"]
    assert result.final == "done"

    shown = []

    def person(question):
        shown.append(question.arguments["amount"])
        return Edit({"amount": 1}) if len(shown) == 1 else "no"

    model = ScriptedModel([call("pay", amount=500), text("done")])
    tools = [Toolset([pay]).asking(when=lambda _, made: made.arguments["amount"] > 100)]
    result = Agent(model, tools=tools, guard=Guard(approve=person)).run_sync("Go.")
    assert shown == [500, 1], "what was changed is another call, about which nobody has said yes"
    assert result.tool_calls[0].failure == "denied"


def test_what_the_policy_forbids_stays_forbidden_and_sub_agents_ask_too():
    worker = ScriptedModel([call("look", place="a"), text("worked")])
    helper = SubAgent("helper", "helps", model=worker, tools=[Toolset([look]).asking(when=lambda *_: True)])
    asked = []
    model = ScriptedModel([call("spawn", agent="helper", task="Look."), text("done")])
    agent = Agent(model, agents=[helper], guard=lambda question: asked.append(question.name) or True)
    assert agent.run_sync("Go.").final == "done"
    assert "look" in asked


@pytest.mark.parametrize("place", ["tools", "toolset", "prefixed"])
@pytest.mark.parametrize("way", ["plain", "async"])
def test_a_tool_says_itself_when_it_is_offered(place, way):
    def admin(context: RunContext[str]):
        return context.deps == "admin" and len(context.messages) > 1

    async def admin_later(context: RunContext[str]):
        await asyncio.sleep(0)
        return admin(context)

    @tool(enabled=admin if way == "plain" else admin_later)
    def erase(name: str) -> str:
        """Erases."""
        return f"{name} erased"

    tools = {"tools": [look, erase], "toolset": [look, Toolset([erase])]}.get(place)
    tools = [look, Toolset([erase]).prefixed("x")] if tools is None else tools
    name = "x_erase" if place == "prefixed" else "erase"
    for deps, offered in (("admin", [["look"], ["look", name]]), ("guest", [["look"], ["look"]])):
        model = ScriptedModel([call("look", place="a"), text("done")])
        Agent(model, tools=tools, deps_type=str).run_sync("go", deps=deps)
        assert [names(request) for request in model.requests] == offered


def test_a_tool_may_be_switched_off_and_nothing_else_stands_for_a_switch():
    off = tool(lambda: "x", name="off", description="d", enabled=False)
    model = ScriptedModel([text("done")])
    Agent(model, tools=[look, off]).run_sync("go")
    assert names(model.requests[0]) == ["look"]
    with pytest.raises(ToolDefinitionError, match="enabled can't be 'yes'"):
        tool(lambda: "x", name="off", enabled="yes")
    with pytest.raises(TypeError, match="here it is enabled"):
        tool(lambda: "x", name="off", is_enabled=True)
