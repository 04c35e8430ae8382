"""Tools that the model finds: in no request before, behind the others from then on, and the same in a replay."""

from __future__ import annotations

import pytest
from loopwright import Agent, Model, SubAgent, replay, tool
from loopwright.events import ToolsLoaded
from loopwright.testing import PromptCache, ScriptedModel, WireServer, call, calls, text
from loopwright.tools import Toolset

FIND = "find_tools"


@tool
def look(place: str) -> str:
    """Looks at a place."""
    return f"{place} is fine"


@tool
def invoice(customer: str) -> str:
    """Writes an invoice for a customer."""
    return f"invoice for {customer}"


@tool
def refund(order: str) -> str:
    """Pays money of an order back."""
    return f"{order} is paid back"


@tool(name="ship_parcel")
def ship(address: str) -> str:
    """Sends a parcel to an address."""
    return f"sent to {address}"


def shop(*more):
    return Toolset([invoice, refund, ship, *more], name="shop").found_by_search()


def names(request):
    return [each["function"]["name"] for each in request.tools]


def seen(result):
    return " ".join(message.to_json() for message in result.messages)


def allow(_):
    return True


def test_what_is_found_is_offered_behind_the_others_from_the_next_request_on():
    model = ScriptedModel([call(FIND, query="pay money back"), call("refund", order="o7"), text("done")])
    result = Agent(model, tools=[look, shop()], guard=allow).run_sync("Pay o7 back.")
    assert [names(request) for request in model.requests] == [
        ["look", FIND],
        ["look", FIND, "refund"],
        ["look", FIND, "refund"],
    ]
    found = result.tool_calls[0].result
    assert "refund" in found
    assert '"order"' in found, "the schema is told"
    assert "o7 is paid back" in seen(result)
    assert result.ok


def test_a_call_of_a_tool_that_was_not_found_runs_and_loads_it():
    model = ScriptedModel([call("ship_parcel", address="Oslo"), text("done")])
    asked = []
    agent = Agent(model, tools=[look, shop()], guard=lambda question: asked.append(question.name) or True)
    result = agent.run_sync("Send it to Oslo.")
    assert "sent to Oslo" in seen(result)
    assert names(model.requests[1]) == ["look", FIND, "ship_parcel"]
    plain = []
    other = ScriptedModel([call("ship_parcel", address="Oslo"), text("done")])
    Agent(other, tools=[ship], guard=lambda question: plain.append(question.name) or True).run_sync("Send it to Oslo.")
    assert asked == plain, "the guard says of it what it says of any"


def test_two_toolsets_have_one_search_and_tools_of_one_name_have_names_of_their_own():
    other = Toolset([invoice], name="other").found_by_search()
    model = ScriptedModel([call(FIND, query="invoice"), text("done")])
    Agent(model, tools=[shop(), other]).run_sync("An invoice.")
    assert names(model.requests[0]) == [FIND]
    assert sorted(names(model.requests[1])[1:]) == ["other_invoice", "shop_invoice"]


def test_the_bytes_before_what_is_loaded_stay_and_the_tools_come_from_the_cache():
    cache = PromptCache("anthropic")
    replies = [call(FIND, query="pay money back"), call("refund", order="o7"), text("done")]

    @tool(description="Weighs a part of the machine. " * 400)
    def long(part: str) -> str:
        return part

    with WireServer(replies) as server:
        model = Model("anthropic:claude-sonnet-4-5", base_url=server.url, api_key="k")
        agent = Agent(model, tools=[long, shop()], guard=allow, instructions="Be brief.", journal=True)
        result = agent.run_sync("Pay o7 back.")
        bodies = [request["body"] for request in server.requests]
        told = [body["tools"] for body in bodies]
    assert [each["name"] for each in told[0]] == ["long", FIND]
    assert [each["name"] for each in told[1]] == ["long", FIND, "refund"]

    def plain(tools):
        return [{key: value for key, value in each.items() if key != "cache_control"} for each in tools]

    assert plain(told[1])[:2] == plain(told[0])
    assert plain(told[2]) == plain(told[1])
    hits = [cache.see(body).hit for body in bodies]
    assert hits[0] == 0
    assert hits[1] > 1_024, "the tools from before come from the cache"
    assert hits[2] > hits[1], "and with nothing new all of them, with the messages"
    assert result.final == "done"


def test_the_event_stands_in_the_journal_and_a_replay_and_a_resumed_run_have_it(tmp_path):
    path = tmp_path / "run.jsonl"
    script = [call(FIND, query="pay money back"), call("refund", order="o7"), text("done")]
    agent = Agent(ScriptedModel(script), tools=[look, shop()], guard=allow)
    events = list(agent.stream_sync("Pay o7 back.", journal=path))
    loaded = [event for event in events if isinstance(event, ToolsLoaded)]
    assert [(event.names, event.query) for event in loaded] == [(["refund"], "pay money back")]
    assert replay(path).identical
    lines = path.read_text().splitlines()
    for kept in range(2, len(lines)):
        cut = tmp_path / f"cut{kept}.jsonl"
        cut.write_text("\n".join(lines[:kept]) + "\n")
        told = [line for line in lines[:kept] if '"generated"' in line]
        model = ScriptedModel(script[len(told) :])
        result = Agent(model, tools=[look, shop()], guard=allow).resume_sync(cut)
        assert result.final == "done", kept
        if model.requests and len(told) >= 1:
            assert names(model.requests[0]) == ["look", FIND, "refund"]


def test_a_run_that_follows_has_what_the_messages_called():
    model = ScriptedModel([call(FIND, query="pay"), call("refund", order="o7"), text("done"), text("again")])
    agent = Agent(model, tools=[shop()], guard=allow)
    first = agent.run_sync("Pay o7 back.")
    agent.run_sync("And now?", messages=first.messages)
    assert names(model.requests[3]) == [FIND, "refund"]


@pytest.mark.parametrize("query", ["", "   ", 7, None])
def test_no_query_is_told_as_such(query):
    model = ScriptedModel([call(FIND, query=query), text("done")])
    result = Agent(model, tools=[shop()]).run_sync("Go.")
    assert result.tool_calls[0].failure == "invalid_arguments"
    assert names(model.requests[1]) == [FIND]


def test_where_nothing_fits_the_names_are_told():
    model = ScriptedModel([call(FIND, query="вернуть деньги"), call(FIND, query="refund, ship_parcel"), text("done")])
    result = Agent(model, tools=[shop()]).run_sync("Go.")
    assert "ship_parcel" in result.tool_calls[0].result
    assert [names(request) for request in model.requests] == [[FIND], [FIND], [FIND, "refund", "ship_parcel"]]


def test_of_many_tools_few_are_given_and_none_of_the_others_costs_anything():
    def numbered(number):
        def act(part: str) -> str:
            return part

        return tool(act, name=f"act_{number}", description=f"Does thing number {number} to a part.")

    many = Toolset([numbered(number) for number in range(2000)], name="many").found_by_search()
    model = ScriptedModel([call(FIND, query="thing number 1234"), call(FIND, query="part"), text("done")])
    Agent(model, tools=[many]).run_sync("Go.")
    assert names(model.requests[0]) == [FIND]
    assert "act_1234" in names(model.requests[1])
    assert len(names(model.requests[2])) <= 11


def test_a_tool_of_ones_own_of_that_name_goes_first():
    @tool(name=FIND)
    def own(query: str) -> str:
        """Finds hammers."""
        return f"hammer {query}"

    model = ScriptedModel([call(FIND, query="big"), call("find_tools_2", query="invoice"), text("done")])
    result = Agent(model, tools=[own, shop()], guard=allow).run_sync("Go.")
    assert result.tool_calls[0].result == "hammer big"
    assert names(model.requests[2]) == [FIND, "find_tools_2", "invoice"]


def test_sub_agents_and_side_by_side_calls():
    worker = ScriptedModel([calls(call(FIND, query="invoice"), call("refund", order="o1")), text("worked")])
    helper = SubAgent("helper", "helps", model=worker, tools=[shop()])
    model = ScriptedModel([call("spawn", agent="helper", task="An invoice."), text("done")])
    result = Agent(model, agents=[helper], guard=allow).run_sync("Go.")
    assert result.final == "done"
    assert [names(request) for request in worker.requests] == [[FIND], [FIND, "invoice", "refund"]]


def test_calls_in_text_of_tools_that_were_not_found_are_read():
    written = '<tool_call>{"name": "refund", "arguments": {"order": "o9"}}</tool_call>'
    model = ScriptedModel([text(written), text("done")])
    agent = Agent(model, tools=[shop()], guard=allow)
    assert "o9 is paid back" in seen(agent.run_sync("Go."))
