"""Doubles of models: what they stream and count, scripts from journals, and calls by their names."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from loopwright import Agent, Journal, Model, Monitor, UsageError, tool
from loopwright.events import ReasoningDelta, TextDelta
from loopwright.models import Call, ModelFailure, Response
from loopwright.roles import Sanity
from loopwright.testing import ScriptedModel, WireServer, call, calls, response, text
from loopwright.testing._pieces import cut
from loopwright.tokens import count_tokens

JOURNALS = Path(__file__).parents[1] / "data" / "journals"


@tool(read_only=True)
def stock(part: str) -> int:
    """How many of a part there are."""
    return 120


def texts(events: list[Any]) -> list[str]:
    return [event.text for event in events if isinstance(event, TextDelta)]


# ---- pieces ----


def test_texts_come_in_pieces_that_are_the_text_when_joined():
    said = "There are one hundred and twenty bolts."
    for size in (1, 8, 100):
        events: list[Any] = []
        result = Agent(ScriptedModel([said], piece=size)).run_sync("x", on_event=events.append)
        assert "".join(texts(events)) == result.final == said
        assert len(texts(events)) == -(-len(said) // size)
        assert max(map(len, texts(events))) == min(size, len(said))


@pytest.mark.parametrize(
    ("said", "size", "pieces"),
    [
        ("", 8, []),
        ("abc", 2, ["ab", "c"]),
        ("e\u0301e\u0301", 1, ["e\u0301", "e\u0301"]),
        ("\U0001f468\u200d\U0001f469\u200d\U0001f467!", 1, ["\U0001f468\u200d\U0001f469\u200d\U0001f467", "!"]),
        ("\U0001f44d\U0001f3fdx", 1, ["\U0001f44d\U0001f3fd", "x"]),
        ("\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7", 1, ["\U0001f1e9\U0001f1ea", "\U0001f1eb\U0001f1f7"]),
        ("a\ud83d\ude00b", 2, ["a\ud83d\ude00", "b"]),
        ("a\r\nb", 2, ["a\r\n", "b"]),
        ("\u2764\ufe0fz", 1, ["\u2764\ufe0f", "z"]),
    ],
)
def test_what_people_see_as_one_character_stays_whole(said, size, pieces):
    assert list(cut(said, size)) == pieces


def test_an_answer_of_all_kinds_streams_and_is_the_same_as_where_nobody_watches():
    steps = [
        Response(
            "Let me see what there is.", [Call("stock", {"part": "bolts"}, "mine")], reasoning="hm, bolts", model="m"
        ),
        response(Response("Cut off", stop="max_tokens", input_tokens=5, output_tokens=6)),
    ]
    events: list[Any] = []
    watched = Agent(ScriptedModel(steps), tools=[stock]).run_sync("x", on_event=events.append)
    alone = Agent(ScriptedModel(steps), tools=[stock]).run_sync("x")
    assert [message.to_dict() for message in watched.messages] == [message.to_dict() for message in alone.messages]
    assert watched.usage == alone.usage
    assert watched.stop_reason == alone.stop_reason
    assert "".join(event.text for event in events if isinstance(event, ReasoningDelta)) == "hm, bolts"
    assert "".join(texts(events)) == "Let me see what there is.Cut off"


def test_steps_of_all_kinds_stream():
    async def later() -> str:
        await asyncio.sleep(0)
        return "later"

    def asked(request: Any) -> str:
        return f"you said {request.last_text}"

    for step, said in ((asked, "you said x"), (text("plain"), "plain"), (lambda _: later(), "later")):
        events: list[Any] = []
        assert Agent(ScriptedModel([step], piece=2)).run_sync("x", on_event=events.append).final == said
        assert "".join(texts(events)) == said
        assert len(texts(events)) > 1
    with pytest.raises(KeyError):
        Agent(ScriptedModel([KeyError("x")])).run_sync("x", on_event=lambda _: None)
    model = ScriptedModel([ModelFailure("busy", "overloaded", retry_after=0.0), "well"])
    assert Agent(model).run_sync("x", on_event=lambda _: None).final == "well"


def test_a_piece_is_a_number_of_characters():
    for wrong in (0, -1, 2.5, True, "8"):
        with pytest.raises(UsageError) as raised:
            ScriptedModel(["x"], piece=wrong)
        assert raised.value.code == "invalid_option"


# ---- counting ----


@pytest.mark.parametrize("watched", [None, lambda _: None])
def test_tokens_of_requests_and_answers_are_counted(watched):
    model = ScriptedModel([call("stock", part="bolts"), "There are 120."])
    result = Agent(model, tools=[stock]).run_sync("How many bolts?", on_event=watched)
    assert result.usage.input_tokens == sum(count_tokens(request) for request in model.requests)
    arguments = json.dumps({"part": "bolts"})
    answers = ["There are 120.", "stock", arguments]
    assert result.usage.output_tokens == sum(count_tokens(answer) for answer in answers)


def test_tokens_that_a_response_says_are_taken():
    for said in (0, 3):
        result = Agent(ScriptedModel([Response("x", input_tokens=said)])).run_sync("hello, you")
        assert (result.usage.input_tokens, result.usage.output_tokens) == (said, 0)


# ---- calls by name ----


def test_n7_calls_takes_what_call_gives():
    first, second = Call("a", {}), Call("b", {"n": 1}, "id")
    assert calls(call("a"), call("b", n=1)) == calls(first, Call("b", {"n": 1}))
    assert calls(calls(first, second), first) == calls(first, second, first)
    assert calls(call("a"), text="first").answer["tool_uses"]["text"] == "first"
    for wrong in (text("x"), "x", None, calls(first, text="said")):
        with pytest.raises(UsageError) as raised:
            calls(wrong)
        assert raised.value.code == "invalid_script"


@pytest.mark.parametrize(
    "step",
    [
        calls(call("stock", part="a"), call("stock", part="b")),
        [call("stock", part="a"), call("stock", part="b")],
        [Call("stock", {"part": "a"}), Call("stock", {"part": "b"})],
    ],
)
def test_n7_several_calls_are_one_step(step):
    model = ScriptedModel([step, Call("stock", {"part": "c"}), "done"])
    result = Agent(model, tools=[stock]).run_sync("x")
    assert [made.arguments["part"] for made in result.tool_calls] == ["a", "b", "c"]
    with WireServer([step, Call("stock", {"part": "c"}), "done"]) as server:
        result = Agent(Model("anthropic:any", base_url=server.url, api_key="k"), tools=[stock]).run_sync("x")
    assert [made.arguments["part"] for made in result.tool_calls] == ["a", "b", "c"]


def test_a_list_that_holds_no_calls_is_no_step():
    with pytest.raises(UsageError) as raised:
        ScriptedModel([["a", "b"]])
    assert raised.value.code == "invalid_script"


# ---- scripts from journals ----


def test_a_journal_is_played_as_its_run_was_answered(tmp_path):
    replies = [call("stock", part="bolts"), Response("There are 120.", input_tokens=77, output_tokens=9)]
    path = tmp_path / "run.jsonl"
    with WireServer(replies) as server:
        agent = Agent(Model("anthropic:any", base_url=server.url, api_key="k"), tools=[stock])
        live = agent.run_sync("Bolts?", journal=path)
    model = ScriptedModel.from_journal(path)
    for watched in (None, lambda _: None):
        played = Agent(ScriptedModel.from_journal(path), tools=[stock]).run_sync("Bolts?", on_event=watched)
        assert played.final == live.final
        assert played.usage == live.usage
        assert [made.call_id for made in played.tool_calls] == [made.call_id for made in live.tool_calls]
        assert [message.text for message in played.messages] == [message.text for message in live.messages]
    assert repr(model) == "<ScriptedModel of 2 steps, 0 requests>"
    assert len(ScriptedModel.from_journal(path.read_text("utf-8"))._steps) == 2


def test_a_run_of_a_store_is_named(tmp_path):
    store = Journal(tmp_path / "runs.db")
    runs = [Agent(ScriptedModel([said]), journal=store).run_sync("x").run_id for said in ("first", "second")]
    for run, said in zip(runs, ("first", "second"), strict=True):
        assert Agent(ScriptedModel.from_journal(store, run)).run_sync("x").final == said


@pytest.mark.parametrize(
    ("name", "answers"),
    [("retries", 2), ("children_at_once", 5), ("a_limit_of_rounds", None), ("stream_that_broke", None)],
)
def test_recorded_journals_give_the_answers_that_were_given(name, answers):
    path = JOURNALS / f"{name}.jsonl"
    model = ScriptedModel.from_journal(path)
    text = path.read_text("utf-8")
    assert len(model._steps) == (text.count('{"generated":{') if answers is None else answers)


def test_roles_beside_the_run_are_left_out(tmp_path):
    path = tmp_path / "run.jsonl"
    monitor = Monitor(sanity=Sanity(ScriptedModel(["no JSON"] * 9), interval=1, wait=True))
    agent = Agent(
        ScriptedModel([call("stock", part="a"), call("stock", part="b"), "done"]), tools=[stock], monitor=monitor
    )
    agent.run_sync("x", journal=path)
    assert '"purpose":"sanity"' in path.read_text("utf-8")
    assert len(ScriptedModel.from_journal(path)._steps) == 3


def test_a_journal_without_answers_says_so(tmp_path):
    path = tmp_path / "run.jsonl"
    with pytest.raises(KeyError):
        Agent(ScriptedModel([KeyError("x")])).run_sync("x", journal=path)
    with pytest.raises(UsageError) as raised:
        ScriptedModel.from_journal(path)
    assert raised.value.code == "no_answers"


# ---- loading ----


def test_testing_loads_what_is_used():
    code = (
        "import sys; before = set(sys.modules); import loopwright.testing\n"
        "assert 'loopwright._core' not in sys.modules\n"
        "names = set(loopwright.testing.__all__)\n"
        "assert names <= set(dir(loopwright.testing))\n"
        "assert all(getattr(loopwright.testing, name) is not None for name in names)\n"
        "assert not hasattr(loopwright.testing, 'no_such_name')"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, timeout=60)
