"""Options of an agent that can't be: each error is typed, names the option and says what would do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from loopwright import Agent, Budget, Guard, Model, ModelSettings, Monitor, UsageError, tool
from loopwright.monitor import StuckPolicy, ToolRules
from loopwright.testing import ScriptedModel, WireServer
from loopwright.tools import ProviderTool, ToolDefinitionError
from ways import run


def made_with(option: str, value: Any, model: Any = "anthropic:any") -> Any:
    """What comes of an option at its place: of the model, of its settings, of a group, or of a run."""
    if option in ("api_key", "base_url", "headers", "timeouts", "retry", "price"):
        return Agent(Model(model, **{option: value}))
    if option in ModelSettings.__annotations__ and option != "seed":
        settings: Any = {option: value}
        return Agent(model, settings=settings)
    places: dict[str, Callable[[], Any]] = {
        "instructions": lambda: Agent(model, instructions=value),
        "monitor.pause_every": lambda: Agent(model, monitor=Monitor(pause_every=value)),
        "monitor.warn_rounds_left": lambda: Agent(model, monitor=Monitor(warn_rounds_left=value)),
        "stuck": lambda: Agent(model, monitor=Monitor(stuck=value)),
        "momentum": lambda: Agent(model, monitor=Monitor(momentum=value)),
        "guard.timeout": lambda: Agent(model, guard=Guard(timeout=value)),
        "guard.approve": lambda: Agent(model, guard=Guard(approve=value)),
        "guard.on_cautious": lambda: Agent(model, guard=Guard(on_cautious=value)),
        "guard.workspace": lambda: Agent(model, guard=Guard(workspace=value)),
        "ProviderTool": lambda: ProviderTool(value),
        "seed": lambda: Agent(ScriptedModel(["x"])).run_sync("go", seed=value),
        "name": lambda: Agent(model, name=value),
        "budget": lambda: Agent(model, budget=value),
        "max_children": lambda: Agent(model, budget=Budget(children=value)),
        "max_depth": lambda: Agent(model, budget=Budget(depth=value)),
    }
    return places[option]()


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("instructions", 5),
        ("api_key", 5),
        ("base_url", b"http://x"),
        ("headers", ["x"]),
        ("headers", {"x": 5}),
        ("max_tokens", -5),
        ("max_tokens", 1.5),
        ("temperature", "hot"),
        ("temperature", float("nan")),
        ("top_p", True),
        ("effort", "max"),
        ("tool_choice", 5),
        ("stop", 5),
        ("stop", ["a", 5]),
        ("timeouts", 5),
        ("timeouts", {"total": "5"}),
        ("retry", 3),
        ("retry", {"base": "x"}),
        ("retry", {"after_output": "yes"}),
        ("retry", {"foo": 1}),
        ("stuck", {"foo": 1}),
        ("momentum", 0.3),
        ("monitor.pause_every", 0),
        ("price", {"input": 1}),
        ("guard.timeout", float("inf")),
        ("guard.approve", 5),
        ("guard.on_cautious", "maybe"),
        ("guard.workspace", 5),
        ("monitor.warn_rounds_left", -1),
        ("ProviderTool", "x"),
        ("seed", -1),
        ("cache", "yes"),
        ("cache", {1}),
        ("name", 5),
        ("budget", 5),
    ],
)
def test_an_option_that_cannot_be_is_named(option: str, value: Any) -> None:
    with pytest.raises(UsageError) as caught:
        made_with(option, value)
    assert option in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize(
    ("option", "value", "message", "hint"),
    [
        ("temperature", "hot", 'temperature can\'t be "hot"', "give a finite number"),
        ("top_p", True, "top_p can't be True", "give a finite number"),
        ("guard.timeout", float("inf"), "guard.timeout is no finite number", "give a finite number"),
        ("max_tokens", 1.5, "max_tokens can't be 1.5", "give a whole number from 0 up, and below 2**64"),
        (
            "max_children",
            2**40,
            f"budget.children can't be {2**40}",
            "give a whole number from 0 up, and below 2**32",
        ),
        ("max_depth", "two", 'budget.depth can\'t be "two"', "give a whole number from 0 up, and below 2**32"),
        ("retry", {"attempts": -1}, "retry.attempts can't be -1", "give a whole number from 0 up, and below 2**32"),
        ("retry", {"after_output": "yes"}, 'retry.after_output can\'t be "yes"', "give True or False"),
        ("retry", 3, "retry can't be 3", "give a dict"),
        ("cache", [1], "cache can't be [1]", "give True, False or '1h'"),
        ("temperature", -1, "temperature is -1", "give a finite number from 0 to 1e12"),
        ("monitor.pause_every", 0, "monitor.pause_every is 0", "give at least 1, or None for never"),
    ],
)
def test_what_the_machine_says_of_an_option_is_passed_on(option: str, value: Any, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        made_with(option, value, ScriptedModel(["x"]))
    assert (caught.value.message, caught.value.hint) == (message, hint)


@pytest.mark.parametrize(
    ("make", "place"),
    [
        (lambda: Budget(rounds=-1), "budget.rounds can't be -1"),
        (lambda: Budget(wall_time=float("nan")), "budget.wall_time is no finite number"),
        (lambda: Budget(cost="much"), 'budget.cost can\'t be "much"'),  # type: ignore[arg-type]
        (lambda: StuckPolicy(repeats=1), "stuck.repeats is 1"),
        (lambda: StuckPolicy(tools={"wait": ToolRules(repeats=1)}), "stuck.tools.wait.repeats is 1"),
        (lambda: StuckPolicy(warn=3), "stuck.warn can't be 3"),  # type: ignore[arg-type]
    ],
)
def test_limits_are_checked_by_the_machine_where_they_are_made(make: Callable[[], Any], place: str) -> None:
    with pytest.raises(UsageError) as caught:
        make()
    assert caught.value.message == place
    assert caught.value.hint


def test_wrong_keys_and_headers_are_not_shown() -> None:
    with pytest.raises(UsageError) as caught:
        Agent(Model("anthropic:any", api_key=b"sk-secret"))  # type: ignore[arg-type]
    assert "secret" not in str(caught.value)
    with pytest.raises(UsageError) as caught:
        Agent(Model("anthropic:any", api_key="k", headers={"x-token": b"sk-secret"}))  # type: ignore[dict-item]
    assert "secret" not in str(caught.value)


def test_a_budget_of_a_run_is_checked_too(way: str) -> None:
    from ways import run

    with pytest.raises(UsageError, match="a budget is a Budget, not dict"):
        run(Agent(ScriptedModel(["x"])), "go", way, budget={"iterations": 3})


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("on_event", each) for each in (3, "x", [print])),
        *(("signal", each) for each in (3, "x", object())),
        *(("messages", each) for each in (3, "x", {}, object())),
        *(("journal", each) for each in (3, b"x", object())),
    ],
)
def test_what_a_run_can_not_be_given_is_named(option: str, value: Any, way: str) -> None:
    if way == "stream" and option == "on_event":
        pytest.skip("a stream gives its events itself")
    with pytest.raises(UsageError) as caught:
        run(Agent(ScriptedModel(["x"])), "go", way, **{option: value})
    assert option in caught.value.message
    assert caught.value.hint


def test_none_is_an_option_that_was_not_given(way: str) -> None:
    model: dict[str, Any] = dict.fromkeys(("retry", "timeouts"))
    monitor: Any = Monitor(warn_rounds_left=None)  # type: ignore[arg-type]
    retry = dict.fromkeys(("attempts", "base", "cap", "longest_retry_after"))
    for options in (model, {"retry": retry}):
        place = Model(ScriptedModel(["x"]), **options)
        agent = Agent(place, settings={"cache": None}, instructions=None, monitor=monitor)
        assert run(agent, "go", way, seed=None)[0].final == "x"


@pytest.mark.parametrize("steps", ["abc", b"abc", 3, None, {"a": 1}])
def test_a_script_is_a_list(steps: Any) -> None:
    for double in (ScriptedModel, WireServer):
        with pytest.raises(UsageError, match="give a list") as caught:
            double(steps)
        assert caught.value.code == "invalid_script"


@pytest.mark.parametrize("options", [{"replies": [3]}, {"replies": ["\ud800"]}, {"key": 3}])
def test_a_wire_server_says_what_it_can_not_play(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as caught:
        WireServer(**options)
    assert caught.value.hint


def test_one_stop_sequence_is_one_and_not_its_letters() -> None:
    with WireServer(["x"]) as server:
        Agent(Model("anthropic:any", base_url=server.url, api_key="k"), settings={"stop": "END"}).run_sync("go")
        assert server.requests[0]["body"]["stop_sequences"] == ["END"]


def test_a_class_is_no_model() -> None:
    with pytest.raises(UsageError, match="instance of the class"):
        Agent(ScriptedModel)  # type: ignore[arg-type]


def test_tools_are_a_list() -> None:
    @tool
    def look() -> str:
        """Look."""
        return "x"

    for wrong in (look, "look"):
        with pytest.raises(ToolDefinitionError, match=r"tools=\[\.\.\.\]"):
            Agent(ScriptedModel(["x"]), tools=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("tools", [5, None, object()])
def test_what_is_no_list_of_tools_is_named(tools: Any) -> None:
    with pytest.raises(ToolDefinitionError, match="tools are a list of functions, not"):
        Agent(ScriptedModel(["x"]), tools=tools)


@pytest.mark.parametrize("place", [5, b"x".join, "a\0b", "a\udce9"])
def test_a_place_where_no_journal_can_be_is_named(place: Any, way: str, tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as caught:
        run(Agent(ScriptedModel(["x"]), journal=place), "go", way)
    assert "journal" in caught.value.message
    assert caught.value.hint


def test_an_on_event_that_gives_a_coroutine_is_no_callback_of_run_sync() -> None:
    async def later() -> None: ...

    with pytest.raises(UsageError, match="gave something to await"):
        Agent(ScriptedModel(["x"])).run_sync("go", on_event=lambda _: later())
    # Where there is a loop it is awaited.
    assert asyncio.run(Agent(ScriptedModel(["x"])).run("go", on_event=lambda _: later())).final == "x"


def test_half_a_character_from_a_model_of_ones_own_ends_no_run(way: str) -> None:
    from ways import run

    assert run(Agent(ScriptedModel(["a\ud800b"])), "go", way)[0].final == "a\ufffdb"


def test_all_limits_of_a_budget_may_be_given() -> None:
    Agent(
        Model(ScriptedModel(["x"]), price={"input": 1, "output": 2}),
        budget=Budget(tokens=1, cost=1.0),
        settings={"stop": ()},
    )
