"""Providers that refuse what they document to refuse: schemas, made-up names, the order of roles."""

from __future__ import annotations

import base64
import dataclasses
import datetime
import enum
import itertools
import json
import uuid
from decimal import Decimal
from typing import Annotated, Any, Literal, Optional, Union

import pytest
from loopwright import Agent, Budget, ContextPolicy, Grounded, Image, Messages, Model, Monitor, tool
from loopwright.models import Call
from loopwright.testing import call, calls, text
from loopwright.testing._strict import Refused, mistral
from pydantic import BaseModel, ConfigDict, Field, conint
from ways import KEY, agent_at, history_of, run, unmarked

# ---- W1: schemas ----


@dataclasses.dataclass
class Invoice:
    number: str
    total: float


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: conint(ge=0, le=9) = 9  # type: ignore[valid-type]


class Dog(BaseModel):
    kind: Literal["dog"]
    name: str = Field(min_length=1, max_length=20, description="What it is called")


class Wide(BaseModel):
    """All that pydantic writes into schemas."""

    count: int = Field(ge=0, le=10, description="How many")
    share: float = Field(gt=0, lt=1, multiple_of=0.25)
    name: str = Field(min_length=2, max_length=30, pattern=r"^\b\w{2,30}$")
    code: str = Field(pattern=r"^[A-Z]+$")
    tags: list[Annotated[str, Field(max_length=9)]] = Field(min_length=2, max_length=3)
    one: list[int] = Field(min_length=1)
    unique: set[int]
    mode: Literal["fast", "slow"]
    level: Literal[1]
    colour: Colour
    note: Optional[str] = None
    either: Union[int, str]
    pet: Union[Cat, Dog] = Field(discriminator="kind", description="The pet")
    pets: list[Dog] = Field(default_factory=list, max_length=4)
    pair: tuple[int, str]
    row: tuple[int, ...]
    when: datetime.datetime
    day: datetime.date
    key: uuid.UUID
    link: Annotated[str, Field(json_schema_extra={"format": "uri"})]
    raw: Annotated[str, Field(json_schema_extra={"format": "binary"})]
    price: Decimal
    owner: Dog = Field(description="Who owns it")


WIDE: dict[str, Any] = {
    "count": 3, "share": 0.5, "name": "abc", "code": "AB", "tags": ["a", "b"], "one": [1], "unique": [1, 2], "mode": "fast",
    "level": 1, "colour": "red", "note": None, "either": "x", "pet": {"kind": "cat", "lives": 3},
    "pets": [{"kind": "dog", "name": "Rex"}], "pair": [1, "a"], "row": [1, 2, 3], "when": "2026-01-02T03:04:05Z",
    "day": "2026-01-02", "key": "12345678-1234-5678-1234-567812345678", "link": "https://x.org/", "raw": "AA",
    "price": "1.50", "owner": {"kind": "dog", "name": "Rex"},
}  # fmt: skip


class Tree(BaseModel):
    name: str
    children: list[Tree] = []


class Loose(BaseModel):
    model_config = ConfigDict(extra="allow")
    name: str


class Anything(BaseModel):
    value: Any


ANSWERS: list[tuple[Any, Any, bool]] = [
    # A type, an answer, and whether Anthropic can be held to it.
    (Invoice, {"number": "A-7", "total": 12.5}, True),
    (Wide, WIDE, True),
    (dict[str, int], {"a": 1}, False),
    (list[Dog], {"value": [{"kind": "dog", "name": "Rex"}]}, True),
    (Tree, {"name": "a", "children": [{"name": "b", "children": []}]}, False),
    (Loose, {"name": "a", "more": 1}, False),
    (Anything, {"value": [1]}, False),
    (Union[Cat, Dog], {"value": {"kind": "dog", "name": "Rex"}}, True),
    (Literal["a", "b"], {"value": "a"}, True),
    (Optional[int], {"value": None}, True),
    (tuple[int, str], {"value": [1, "a"]}, True),
]


@pytest.mark.parametrize(("kind", "answer", "enforced"), ANSWERS, ids=lambda each: str(each)[:30])
def test_w1_typed_answers_pass_a_strict_provider(serve: Any, wire: str, kind: Any, answer: Any, enforced: bool) -> None:
    server = serve(text(json.dumps(answer)))
    result = agent_at(server, wire, output_type=kind).run_sync("Answer.")
    assert server.refusals == []
    assert result.output is not None or answer == {"value": None}
    body = json.dumps(server.requests[0]["body"])
    if wire == "anthropic":
        assert ("output_config" in body) is enforced
        assert ("Answer with one JSON value of this schema" in body) is not enforced
        assert any("output_unenforced" in warning for warning in result.warnings) is not enforced


def test_w1_bounds_go_into_the_description_and_are_checked_here(serve: Any, way: str) -> None:
    late = {**WIDE, "count": 11}
    server = serve(text(json.dumps(late)), text(json.dumps(WIDE)))
    result, _ = run(agent_at(server, output_type=Wide), "Answer.", way)
    assert server.refusals == []
    assert result.output.count == 3
    assert len(server.requests) == 2
    shown = server.requests[0]["body"]["output_config"]["format"]["schema"]["properties"]
    # Bounds are read where the value stands.
    assert shown["count"] == {"type": "integer", "description": "How many (maximum 10; minimum 0)"}
    assert "at least 2 items" in shown["tags"]["description"]
    assert shown["one"]["minItems"] == 1
    assert shown["day"]["format"] == "date"
    assert "binary" in shown["raw"]["description"]
    assert shown["code"]["pattern"] == "^[A-Z]+$"


def test_w1_the_order_of_properties_stays(serve: Any) -> None:
    server = serve(text(json.dumps(WIDE)))
    agent_at(server, output_type=Wide).run_sync("Answer.")
    sent = server.requests[0]["body"]["output_config"]["format"]["schema"]["properties"]
    assert list(sent) == list(Wide.model_fields)


def test_w1_many_optional_properties_are_required_instead(serve: Any) -> None:
    from pydantic import create_model

    many = create_model("Many", **{f"f{n}": (int, n) for n in range(30)})
    server = serve(text(json.dumps({f"f{n}": 1 for n in range(30)})))
    result = agent_at(server, output_type=many).run_sync("Answer.")
    assert server.refusals == []
    assert len(server.requests[0]["body"]["output_config"]["format"]["schema"]["required"]) == 30
    assert result.output.f3 == 1


def test_w1_research_asks_a_strict_provider(serve: Any, tmp_path: Any) -> None:
    from loopwright import Research
    from test_research import DONE, FRONT, HANDBOOK, NONE, OUTLINE, QUESTION, SCOUT

    plan = json.dumps({"critique": "c", "thought": "t", "plan": [{"action": "SEARCH", "query": "snapshots"}]})
    script = [text(each) for each in (SCOUT, OUTLINE, plan, DONE)] + [text(each) for each in (NONE, FRONT)] * 30
    server = serve(*script)
    agent = Research(
        Model("anthropic:test", base_url=server.url, api_key=KEY), corpus=HANDBOOK, budget=Budget(rounds=20)
    )
    result = agent.run_sync(QUESTION)
    assert server.refusals == []
    assert result.final
    assert any("output_config" in each["body"] for each in server.requests)


def test_w1_roles_ask_a_strict_provider(serve: Any) -> None:
    from test_roles import SANE, SUMMED, looks, slow

    main = serve(*looks(4, "slow"), by_turn=True)
    summer = serve(text(json.dumps(SUMMED)), repeat_last=True)
    checker = serve(text(json.dumps(SANE)), repeat_last=True)
    from loopwright.roles import Role, Sanity

    agent = Agent(
        Model("anthropic:main", base_url=main.url, api_key=KEY),
        tools=[slow],
        context=ContextPolicy(summarizer=Role("anthropic:s", base_url=summer.url, api_key=KEY)),
        monitor=Monitor(sanity=Sanity("anthropic:c", base_url=checker.url, api_key=KEY)),
    )
    result = agent.run_sync("Look around.")
    assert main.refusals == summer.refusals == checker.refusals == []
    assert result.final == "All done."
    assert summer.requests
    assert checker.requests


def test_w1_a_grounded_answer_of_a_schema_passes(serve: Any) -> None:
    server = serve(text(json.dumps({"number": "I do not know.", "total": 1.0})), repeat_last=True)
    agent = Grounded(Model("anthropic:test", base_url=server.url, api_key=KEY), profile=Dog)
    agent.run_sync("Which invoice?")
    assert server.refusals == []


# ---- W2: names that a model made up ----


@tool(read_only=True)
def weather(city: str = "Oslo") -> str:
    """The weather."""
    return f"sunny in {city}"


@tool(read_only=True)
def get_time() -> str:
    """The time."""
    return "noon"


SLIPS = [
    "functions.weather", "weather ", " weather", '"weather"', "weather<|channel|>commentary", "default_api:weather",
    "tools/weather", "Weather", "functions.weather:0", "WEATHER()", "ns.tools.weather", "`weather`",
    "weather\u200b", "\ufeffweather", "weather\x00", "functions.weather\u2060", "wea\u00adther", "_weather_",
]  # fmt: skip
STRANGE = [
    "",
    "a" * 80,
    "forecast",
    "wetter für heute",
    "天气",
    "functions.",
    "weather now",
    "a.b.c",
    "🙂",
    "weather-weather",
]


@pytest.mark.parametrize("name", [*SLIPS, *STRANGE])
def test_w2_made_up_names_go_back_legal(serve: Any, wire: str, name: str) -> None:
    server = serve(calls(Call(name, {"city": "Rome"})), text("Done."), text("Again."))
    agent = agent_at(server, wire, tools=[weather, get_time])
    result = agent.run_sync("The weather?")
    assert server.refusals == []
    assert result.final == "Done."
    # It can go on from its history, and from a copy that was saved.
    again = agent.run_sync("And now?", messages=Messages.from_json(result.messages.to_json()))
    assert server.refusals == []
    assert again.final == "Again."
    ran = [each.name for each in result.tool_calls if each.failure is None]
    assert ran == (["weather"] if name in SLIPS else [])
    # The history keeps what was written.
    assert [use.name for message in result.messages for use in message.tool_uses] == [name]
    first, later = (json.dumps(server.requests[at]["body"]) for at in (1, 2))
    assert later.count("sunny in Rome") == first.count("sunny in Rome") == (1 if name in SLIPS else 0)


@pytest.mark.parametrize(
    "name", ["getTime", "gettime", "get time", "GetTime", "get-time", "functions.getTime", "get__time"]
)
def test_w2_how_the_words_of_a_name_are_joined_is_a_slip(serve: Any, wire: str, name: str) -> None:
    server = serve(calls(Call(name, {})), text("Done."))
    result = agent_at(server, wire, tools=[weather, get_time]).run_sync("The time?")
    assert server.refusals == []
    assert [(each.name, each.failure) for each in result.tool_calls] == [("get_time", None)]


@pytest.mark.parametrize("name", ["get_times", "g_t", "time", "--", "\u200b", "get_timé"])
def test_w2_another_word_is_no_slip(serve: Any, wire: str, name: str) -> None:
    server = serve(calls(Call(name, {})), text("Done."))
    result = agent_at(server, wire, tools=[weather, get_time]).run_sync("The time?")
    assert [each.failure for each in result.tool_calls] == ["unknown_tool"]


def test_w2_an_ambiguous_slip_is_unknown(serve: Any, wire: str) -> None:
    @tool(name="Get-Time", read_only=True)
    def other() -> str:
        """Another."""
        return "never"

    slips = [Call(name, {}) for name in ("GET_TIME", "gettime", "get\u200b_time")]
    server = serve(calls(*slips), calls(Call("functions.get_time", {})), text("Done."))
    result = agent_at(server, wire, tools=[get_time, other]).run_sync("The time?")
    assert server.refusals == []
    assert [(each.name, each.failure) for each in result.tool_calls] == [
        *((each.name, "unknown_tool") for each in slips), ("get_time", None),
    ]  # fmt: skip


def test_w2_a_slip_is_bound_to_the_tools_own_rules(serve: Any) -> None:
    ran: list[int] = []

    @tool(risk="dangerous")
    def wipe() -> str:
        """Wipes."""
        ran.append(1)
        return "wiped"

    server = serve(calls(Call("functions.wipe", {})), text("Done."))
    result = agent_at(server, tools=[wipe]).run_sync("Go.")
    assert not ran
    assert [(each.name, each.failure) for each in result.tool_calls] == [("wipe", "denied")]


@pytest.mark.parametrize(
    "ids", [["functions.weather:0", "functions_weather:0"], ["x" * 90, "x" * 91], ["é", "è"], ["a b", "a_b"]]
)
def test_w2_ids_stay_distinct_and_agree(serve: Any, wire: str, ids: list[str]) -> None:
    both = [Call("weather", {"city": city}, call_id=id_) for city, id_ in zip(["Rome", "Oslo"], ids, strict=True)]
    server = serve(calls(*both), text("Done."))
    result = agent_at(server, wire, tools=[weather]).run_sync("The weather?")
    assert server.refusals == []
    assert result.final == "Done."
    assert [use.call_id for message in result.messages for use in message.tool_uses] == ids


def test_w2_a_given_history_of_another_maker_becomes_legal(serve: Any, wire: str) -> None:
    given = [
        {"role": "user", "content": "The weather?"},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "functions.weather:0", "type": "function", "function": {"name": "functions.weather", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "functions.weather:0", "content": "sunny"},
        {"role": "assistant", "content": "Sunny."},
    ]  # fmt: skip
    server = serve(text("Still sunny."))
    result = agent_at(server, wire, tools=[weather]).run_sync("And now?", messages=read(given))
    assert server.refusals == []
    assert result.final == "Still sunny."


def test_w2_requests_repeat_the_prefix_of_the_one_before(serve: Any, wire: str) -> None:
    names = ["functions.weather", "", "x" * 70, "天气", "tools/weather"]
    server = serve(*(calls(Call(name, {"city": str(at)})) for at, name in enumerate(names)), text("Done."))
    agent_at(server, wire, tools=[weather]).run_sync("The weather?")
    assert prefixes(server, wire)


# ---- W3: the order of roles ----

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
ORDERS = [
    ("anthropic", "anthropic"),
    ("chat", "openai"),
    ("chat", "mistral"),
    ("responses", "openai"),
    ("gemini", "gemini"),
    ("bedrock", "bedrock"),
]
NAMES = ["anthropic", "chat", "mistral", "responses", "gemini", "bedrock"]
orders = pytest.mark.parametrize(("wire", "provider"), ORDERS, ids=NAMES)


@tool(read_only=True)
def step(n: int) -> str:
    """One step."""
    return f"step {n} is done"


@tool(read_only=True)
def picture() -> Image:
    """A picture."""
    return Image(PIXEL, media_type="image/png")


def read(given: list[dict[str, Any]]) -> Messages:
    """Messages in the form of Chat Completions as a history of ours."""
    from loopwright import _core

    request = json.loads(_core.decode_request("openai_chat", json.dumps({"model": "m", "messages": given})))
    system = [request["system"]] if request.get("system") else []
    return Messages.from_json(json.dumps([*system, *request["messages"]]))


def prefixes(server: Any, wire: str) -> bool:
    """Whether each request repeats the messages of the one before, marks for caches aside: they move on."""
    sent = [unmarked(history_of(each["body"], wire)) for each in server.requests]
    return all(later[: len(earlier)] == earlier for earlier, later in itertools.pairwise(sent))


def agent_of(server: Any, wire: str, provider: str, **options: Any) -> Agent[Any, Any]:
    """An agent at the server, by the provider's own name where its rules are more than its wire's."""
    if provider == "mistral":
        return Agent(Model("mistral:test", base_url=server.url, api_key=KEY), **options)
    return agent_at(server, wire, **options)


@orders
def test_w3_eight_rounds_with_notes_are_legal(serve: Any, wire: str, provider: str, way: str) -> None:
    server = serve(*(call("step", n=n) for n in range(8)), text(""), text("Done."), strict=provider)
    agent = agent_of(
        server, wire, provider, tools=[step], monitor=Monitor(warn_rounds_left=6), budget=Budget(tool_rounds=9)
    )
    result, _ = run(agent, "Go on.", way)
    assert server.refusals == []
    assert result.final == "Done."
    shown = json.dumps(server.requests[-1]["body"])
    assert "rounds" in shown or "round" in shown, "the notes reach the model"
    assert prefixes(server, wire)


@orders
def test_w3_pictures_of_results_are_legal(serve: Any, wire: str, provider: str, way: str) -> None:
    server = serve(
        calls(Call("picture", {}, call_id="a"), Call("step", {"n": 1}, call_id="b")),
        call("picture"),
        text("Done."),
        strict=provider,
    )
    result, _ = run(agent_of(server, wire, provider, tools=[step, picture]), "Look.", way)
    assert server.refusals == []
    assert result.final == "Done."
    assert "iVBORw0KGgo" in json.dumps(server.requests[-1]["body"])
    assert prefixes(server, wire)


@orders
@pytest.mark.parametrize("rounds", [1, 3])
def test_w3_a_prompt_behind_a_stopped_run_is_legal(serve: Any, wire: str, provider: str, way: str, rounds: int) -> None:
    server = serve(*(call("step", n=n) for n in range(rounds)), text("Done."), text("Again."), strict=provider)
    stopped = agent_of(server, wire, provider, tools=[step], budget=Budget(rounds=rounds, tool_rounds=9))
    first, _ = run(stopped, "Go on.", way)
    assert first.messages[-1].role == "user", "it ended behind results"
    second, _ = run(agent_of(server, wire, provider, tools=[step]), "And now?", way, messages=first.messages)
    third, _ = run(agent_of(server, wire, provider, tools=[step]), "And then?", way, messages=second.messages)
    assert server.refusals == []
    assert (second.final, third.final) == ("Done.", "Again.")


@orders
def test_w3_given_histories_in_any_order_are_legal(serve: Any, wire: str, provider: str) -> None:
    uses = [{"id": f"c{n}", "type": "function", "function": {"name": "step", "arguments": "{}"}} for n in range(3)]
    results = [{"role": "tool", "tool_call_id": f"c{n}", "content": f"r{n}"} for n in range(3)]
    given = [
        {"role": "system", "content": "Be good."},
        {"role": "user", "content": "a"},
        {"role": "user", "content": "b"},
        {"role": "assistant", "content": "", "tool_calls": uses[:2]},
        results[0], results[1],
        {"role": "system", "content": "Be better."},
        {"role": "assistant", "content": "c"},
        {"role": "system", "content": "Be best."},
        {"role": "user", "content": ""},
        {"role": "assistant", "content": None, "tool_calls": uses[2:]},
        results[2],
    ]  # fmt: skip
    server = serve(text("Done."), strict=provider)
    result = agent_of(server, wire, provider, tools=[step]).run_sync("Now?", messages=read(given))
    assert server.refusals == []
    assert result.final == "Done."
    shown = json.dumps(server.requests[0]["body"])
    assert all(words in shown for words in ("Be good.", "Be better.", "Be best.", "r2"))


def test_w3_a_request_that_came_so_stays_so() -> None:
    from loopwright import _core

    messages = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c", "content": "r"},
        {"role": "user", "content": "b"},
    ]  # fmt: skip
    body = json.dumps({"model": "m", "messages": messages})
    assert (
        json.loads(_core.encode_request("openai_chat", _core.decode_request("openai_chat", body)))["messages"]
        == messages
    )
    with pytest.raises(Refused):
        mistral({"messages": messages})
