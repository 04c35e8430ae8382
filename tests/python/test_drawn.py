"""What is drawn from a stream: its text, its output while that is written, the elements of its list; in both ways."""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import itertools
import json
import threading
import time
import warnings
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest
from loopwright import Agent, SubAgent, UsageError, tool
from loopwright._growing_json import GrowingJson
from loopwright.events import ChildText, Reset, RoundStarted, RunFinished, TextDelta, ToolFinished, ToolStarted
from loopwright.models import Call, Response
from loopwright.run import Partial, SyncStream
from loopwright.testing import ScriptedModel, call, calls, fault, recorded, text
from pydantic import AfterValidator, BaseModel, Field
from ways import agent_at

pytestmark = pytest.mark.timeout(30)
LONG = "The quick brown fox jumps over the lazy dog, again and again and again."


@dataclass
class City:
    name: str
    people: int


OSLO, BERGEN, BODO = (
    {"name": name, "people": n} for name, n in (("Oslo", 717710), ("Bergen", 291940), ("Bodø", 53259))
)


@pytest.fixture(params=["async", "sync"])
def drawn(request: Any) -> Any:
    """Draws all from a stream of an agent; gives it and the result."""

    def here(agent: Agent[Any, Any], of: str, **options: Any) -> Any:
        stream = agent.stream_sync("go", **options)
        return list(getattr(stream, of)()), stream.result

    def awaited(agent: Agent[Any, Any], of: str, **options: Any) -> Any:
        async def main() -> Any:
            stream = agent.stream("go", **options)
            return [each async for each in getattr(stream, of)()], stream.result

        return asyncio.run(main())

    return here if request.param == "sync" else awaited


class Whole:
    """A model of one's own that gives its answers whole."""

    name = "whole"

    def __init__(self, *answers: Any, later: bool = False) -> None:
        self.answers = list(answers)
        if later:
            self.respond = self.respond_later  # type: ignore[method-assign]

    def respond(self, request: Any) -> Any:
        return self.answers.pop(0)

    async def respond_later(self, request: Any) -> Any:
        await asyncio.sleep(0)
        return self.answers.pop(0)


@tool(read_only=True)
def look(n: int) -> str:
    """Looks."""
    return f"saw {n}"


# ---- a whole answer is one delta ----


@pytest.mark.parametrize("later", [False, True], ids=["plain", "async"])
def test_w28_an_answer_of_a_model_of_ones_own_is_one_delta(drawn: Any, later: bool) -> None:
    def model() -> Whole:
        return Whole(Response("Wait.", [Call("look", {"n": 1})]), LONG, later=later)

    events, result = drawn(Agent(model(), tools=[look]), "events")
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["Wait.", LONG]
    assert result.final == LONG
    texts, result = drawn(Agent(model(), tools=[look]), "text")
    assert texts == ["Wait.", LONG]


@pytest.mark.parametrize("wire", ["anthropic", "chat", "responses", "gemini"])
def test_w28_a_server_that_ignores_stream_gives_one_delta_and_one_that_streams_none_more(
    serve: Any, wire: str, drawn: Any
) -> None:
    whole = _whole_body(wire, LONG)
    events, result = drawn(agent_at(serve(recorded(200, "application/json", whole)), wire), "events")
    assert [event.text for event in events if isinstance(event, TextDelta)] == [LONG] == [result.final]
    streamed, result = drawn(agent_at(serve(text(LONG)), wire), "events")
    pieces = [event.text for event in streamed if isinstance(event, TextDelta)]
    assert "".join(pieces) == LONG == result.final and len(pieces) > 1


def test_w28_after_a_reset_a_whole_answer_is_one_delta(serve: Any, drawn: Any) -> None:
    cut = dataclasses.replace(text(LONG), piece=6).but(fault.cut(after=6))
    whole = recorded(200, "application/json", _whole_body("anthropic", LONG))
    events, _ = drawn(agent_at(serve(cut, whole), retry={"base": 0.01}), "events")
    at = next(n for n, event in enumerate(events) if isinstance(event, Reset))
    assert [event.text for event in events[at:] if isinstance(event, TextDelta)] == [LONG]


@pytest.mark.parametrize("later", [False, True], ids=["plain", "async"])
def test_w28_a_sub_agent_s_whole_answer_is_one_piece_of_its_text(drawn: Any, later: bool) -> None:
    child = SubAgent("scout", "looks", model=Whole("seen", later=later))
    agent = Agent(Whole(Response("", [Call("spawn", {"agent": "scout", "task": "see"})]), "done"), agents=[child])
    events, _ = drawn(agent, "events")
    assert [(event.text, event.path) for event in events if isinstance(event, ChildText)] == [("seen", "scout")]
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["done"]


def _whole_body(wire: str, words: str) -> dict[str, Any]:
    if wire == "anthropic":
        return {
            "id": "m", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
            "content": [{"type": "text", "text": words}], "usage": {"input_tokens": 1, "output_tokens": 1},
        }  # fmt: skip
    if wire == "chat":
        message = {"role": "assistant", "content": words}
        return {"id": "m", "model": "m", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    if wire == "gemini":
        content = {"role": "model", "parts": [{"text": words}]}
        return {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}]}
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": words}]}
    return {"id": "m", "object": "response", "status": "completed", "model": "m", "output": [said]}


# ---- text ----


def test_text_is_all_of_it_so_far(serve: Any, wire: str, drawn: Any) -> None:
    texts, result = drawn(agent_at(serve(text(LONG)), wire), "text")
    assert texts[-1] == LONG == result.final and len(texts) > 2
    assert all(LONG.startswith(each) for each in texts)
    assert texts == sorted(set(texts), key=len)


def test_text_is_right_after_a_reset_by_itself(serve: Any, wire: str, drawn: Any) -> None:
    server = serve(dataclasses.replace(text(LONG), piece=6).but(fault.cut(after=6)), LONG)
    texts, _ = drawn(agent_at(server, wire, retry={"base": 0.01}), "text")
    assert texts[-1] == LONG and all(LONG.startswith(each) for each in texts)
    assert texts.count("") == 1, "what was shown is void meanwhile"
    assert 0 < texts.index("") < len(texts) - 1


def test_text_is_of_one_round_and_of_no_sub_agent(drawn: Any) -> None:
    child = SubAgent("scout", "looks", model=Whole("not this"))
    asked = Response("Wait.", [Call("spawn", {"agent": "scout", "task": "see"})])
    texts, _ = drawn(
        Agent(Whole(asked, Response("", [Call("look", {"n": 1})]), "done"), tools=[look], agents=[child]), "text"
    )
    assert texts == ["Wait.", "done"]


def test_the_blocks_of_a_text_follow_each_other_as_in_the_result(drawn: Any) -> None:
    body = _whole_body("anthropic", "")
    body["content"] = [{"type": "text", "text": each} for each in ("One.", "Two. ", "Three.")]

    from loopwright.testing import WireServer

    with WireServer([recorded(200, "application/json", body)]) as server:
        texts, result = drawn(agent_at(server), "text")
    assert texts[-1] == result.final == "One.Two. Three."
    assert len(texts) == 3


def test_text_ends_with_what_a_hook_made_of_it(drawn: Any) -> None:
    from loopwright.hooks import Hook, Replace

    hook = Hook("pre_output", lambda context: Replace("mended"))
    texts, result = drawn(Agent(Whole("broken"), hooks=[hook]), "text")
    assert result.final == "mended" and texts[0] == "broken" and texts[-1] == "mended"


def test_an_error_is_raised_as_over_the_events(drawn: Any) -> None:
    from loopwright import LoopwrightError

    for of in ("text", "events"):
        with pytest.raises(LoopwrightError) as caught:
            drawn(Agent(Whole("x" * 10, "y", "z"), output_type=City), of)
        assert caught.value.code == "invalid_output"


# ---- outputs ----


def test_outputs_are_plain_data_at_once_and_typed_once_they_fit(serve: Any, wire: str, drawn: Any) -> None:
    words = json.dumps(OSLO, ensure_ascii=False)
    server = serve(dataclasses.replace(text(words), piece=3))
    partials, result = drawn(agent_at(server, wire, output_type=City), "outputs")
    assert all(type(each) is Partial for each in partials)
    assert partials[-1] == Partial(OSLO, City("Oslo", 717710), done=True)
    assert [each.done for each in partials[:-1]] == [False] * (len(partials) - 1)
    assert {"name": "O"} in [each.data for each in partials] or {"name": "Os"} in [each.data for each in partials]
    for each in partials:
        assert each.data.keys() <= OSLO.keys() and OSLO["name"].startswith(each.data.get("name", ""))
        assert (each.value is not None) == (each.data.keys() == OSLO.keys())
    assert partials[-1].value is result.output


@pytest.mark.parametrize(
    ("kind", "words", "data", "value"),
    [
        (
            list[City],
            json.dumps({"value": [OSLO, BERGEN]}),
            [OSLO, BERGEN],
            [City("Oslo", 717710), City("Bergen", 291940)],
        ),
        (list[int], "Here: [1, 2, 3] as asked", [1, 2, 3], [1, 2, 3]),
        (City | None, '{"value": null}', None, None),
        (Literal["yes", "no"], "yes", "yes", "yes"),
        (int, '{"value": 12}', 12, 12),
        (dict[str, int], '```json\n{"a": 1, "b": 2}\n```', {"a": 1, "b": 2}, {"a": 1, "b": 2}),
        (City, "{'name': 'Oslo', 'people': 717710,}", OSLO, City("Oslo", 717710)),
        (None, "just text", "just text", "just text"),
    ],
    ids=str,
)
def test_outputs_of_every_kind_of_type(kind: Any, words: str, data: Any, value: Any, drawn: Any, serve: Any) -> None:
    agent = agent_at(serve(dataclasses.replace(text(words), piece=2)), output_type=kind)
    partials, result = drawn(agent, "outputs")
    assert partials[-1] == Partial(data, value, done=True)
    assert result.output == value
    for before, after in itertools.pairwise(partials[:-1]):
        assert (before.data, before.value) != (after.data, after.value)


def test_outputs_begin_anew_with_another_answer(serve: Any, drawn: Any) -> None:
    cut = dataclasses.replace(text(json.dumps(OSLO)), piece=4).but(fault.cut(after=8))
    wrong, right = {"name": "Oslo", "people": "many"}, OSLO
    server = serve(cut, json.dumps(wrong), json.dumps(right))
    partials, _ = drawn(agent_at(server, output_type=City, retry={"base": 0.01}), "outputs")
    assert [each.done for each in partials].count(True) == 1
    assert partials[-1] == Partial(OSLO, City("Oslo", 717710), done=True)
    at = next(n for n, each in enumerate(partials) if each.data == wrong)
    assert partials[at].value is None


def test_an_output_that_never_came_is_not_done(drawn: Any) -> None:
    from loopwright import Budget

    agent = Agent(ScriptedModel([call("look", n=n) for n in range(3)]), tools=[look], output_type=City)
    partials, result = drawn(agent, "outputs", budget=Budget(rounds=1))
    assert not [each for each in partials if each.done]
    assert result.final is None


def test_what_partial_outputs_cost_stays_in_proportion(serve: Any) -> None:
    many = [{"name": f"City {n}", "people": n} for n in range(4000)]
    agent = agent_at(serve(text(json.dumps({"value": many}))), output_type=list[City])
    began = time.process_time()
    partials = list(agent.stream_sync("go").outputs())
    assert partials[-1].data == many and len(partials) < 2000
    assert time.process_time() - began < 10
    began = time.process_time()
    items = list(agent_at(serve(text(json.dumps({"value": many}))), output_type=list[City]).stream_sync("go").items())
    assert len(items) == 4000
    assert time.process_time() - began < 5


# ---- items ----


def test_items_come_once_each_as_soon_as_they_are_whole(serve: Any, wire: str) -> None:
    words = json.dumps([OSLO, BERGEN, BODO])
    server = serve(dataclasses.replace(text(words), piece=8).slowly(0.02))
    seen: list[tuple[float, City]] = []
    stream = agent_at(server, wire, output_type=list[City]).stream_sync("go")
    for city in stream.items():
        seen.append((time.monotonic(), city))
    assert [city for _, city in seen] == [City(**each) for each in (OSLO, BERGEN, BODO)] == stream.result.output
    assert seen[-1][0] - seen[0][0] > 0.03, "they came all at once"


@pytest.mark.parametrize(
    ("kind", "words", "items"),
    [
        (list[City], json.dumps({"value": [OSLO, BERGEN]}), [City("Oslo", 717710), City("Bergen", 291940)]),
        (list[int], "[1, 1, 2, 1]", [1, 1, 2, 1]),
        (list[int], "[]", []),
        (list[int], "```json\n[1,\n2]\n```", [1, 2]),
        (list[str], r'["a]", "b,\"", "\\", "é{"]', ["a]", 'b,"', "\\", "é{"]),
        (list[list[int]], "[[1, 2], [], [3]]", [[1, 2], [], [3]]),
        (list[City | None], '[null, {"name": "A", "people": 1}]', [None, City("A", 1)]),
        (list[dict[str, Any]], "[{'a': 1}, {'b': [2]}]", [{"a": 1}, {"b": [2]}]),
        (Annotated[list[int], Field(max_length=3)], "[1, 2, 3]", [1, 2, 3]),
        (list[Annotated[int, AfterValidator(lambda n: n * 10)]], "[1, 2]", [10, 20]),
        (list, '[1, "a"]', [1, "a"]),
    ],
    ids=str,
)
@pytest.mark.parametrize("piece", [1, 3, 1000])
def test_items_of_every_kind_of_list(kind: Any, words: str, items: Any, piece: int, drawn: Any, serve: Any) -> None:
    agent = agent_at(serve(dataclasses.replace(text(words), piece=piece)), output_type=kind)
    found, result = drawn(agent, "items")
    assert found == items == result.output


def test_items_after_a_reset_are_given_no_second_time(serve: Any, wire: str, drawn: Any) -> None:
    words = json.dumps([OSLO, OSLO, BERGEN, BODO])
    server = serve(dataclasses.replace(text(words), piece=8).but(fault.cut(after=14)), words)
    agent = agent_at(server, wire, output_type=list[City], retry={"base": 0.01})
    heard = list(
        agent_at(
            serve(dataclasses.replace(text(words), piece=8).but(fault.cut(after=14)), words), wire, retry={"base": 0.01}
        ).stream_sync("go")
    )
    assert any(isinstance(event, Reset) for event in heard)
    found, _ = drawn(agent, "items")
    assert found == [City(**each) for each in (OSLO, OSLO, BERGEN, BODO)]


def test_a_wrong_element_waits_for_another_answer(serve: Any, drawn: Any) -> None:
    wrong = [OSLO, {"name": "Bergen", "people": "many"}, BODO]
    server = serve(json.dumps(wrong), json.dumps([OSLO, BERGEN, BODO]))
    found, result = drawn(agent_at(server, output_type=list[City]), "items")
    assert found == [City(**each) for each in (OSLO, BERGEN, BODO)] == result.output
    server = serve(*[json.dumps(wrong)] * 3)
    from loopwright import LoopwrightError

    items: list[Any] = []
    with pytest.raises(LoopwrightError, match="people"):
        items.extend(agent_at(server, output_type=list[City]).stream_sync("go").items())
    assert items == [City(**OSLO)]


@pytest.mark.parametrize("kind", [None, City, dict[str, int], tuple[int, ...], int])
def test_what_is_no_list_has_no_items(kind: Any) -> None:
    agent = Agent(Whole("x"), output_type=kind)

    async def main() -> None:
        with pytest.raises(UsageError, match="only lists") as caught:
            agent.stream("go").items()
        assert caught.value.code == "no_items" and caught.value.hint

    asyncio.run(main())
    with pytest.raises(UsageError, match="only lists"):
        agent.stream_sync("go").items()


def test_models_of_pydantic_are_elements_too(drawn: Any) -> None:
    class Town(BaseModel):
        name: str

    found, _ = drawn(Agent(Whole('{"value": [{"name": "A"}, {"name": "B"}]}'), output_type=list[Town]), "items")
    assert found == [Town(name="A"), Town(name="B")]


# ---- one reader at a time ----


@pytest.mark.parametrize("second", ["text", "outputs", "items", "events"])
@pytest.mark.parametrize("first", ["text", "outputs", "items", "events"])
def test_two_readers_at_once_are_an_error(first: str, second: str) -> None:
    agent = Agent(Whole("[1, 2]", "[1, 2]"), output_type=list[int])
    with agent.stream_sync("go") as here:
        reading = getattr(here, first)()
        next(reading)
        with pytest.raises(UsageError) as caught:
            next(getattr(here, second)())
        assert caught.value.code == "being_read" and caught.value.hint
        if first != "events":
            with pytest.raises(UsageError):
                next(here)
        assert list(reading) is not None and here.result.output == [1, 2], "the first reads on"

    async def main() -> None:
        async with agent.stream("go") as stream:
            reading = getattr(stream, first)()
            await reading.__anext__()
            with pytest.raises(UsageError) as caught:
                await getattr(stream, second)().__anext__()
            assert caught.value.code == "being_read"
            if first != "events":
                with pytest.raises(UsageError):
                    await stream.__anext__()
            async for _ in reading:
                pass
            assert stream.result.output == [1, 2]

    asyncio.run(main())


@pytest.mark.parametrize("of", ["text", "outputs", "items"])
def test_what_was_read_before_is_missed_and_said(of: str) -> None:
    agent = Agent(Whole("[1]", "[1]"), output_type=list[int])
    with agent.stream_sync("go") as here:
        assert [event.type for event in here][-1] == "run_finished"
        assert list(here) == []
        with pytest.raises(UsageError) as caught:
            list(getattr(here, of)())
        assert caught.value.code in ("read_before", "being_read") and "stream.result" in str(caught.value.hint)

    async def main() -> None:
        async with agent.stream("go") as stream:
            await stream.__anext__()
            with pytest.raises(UsageError) as caught:
                await getattr(stream, of)().__anext__()
            assert caught.value.code == "read_before"

    asyncio.run(main())


# ---- leaving them ----


def _steps(ran: list[int]) -> Any:
    @tool
    def work(n: int) -> str:
        """Works."""
        ran.append(n)
        return str(n)

    asked = [Response(f"step {n}", [Call("work", {"n": n})]) for n in range(1, 7)]
    return Agent(Whole(*asked, "done"), tools=[work])


@pytest.mark.parametrize("of", ["text", "outputs", "events"])
@pytest.mark.parametrize("opened", [False, True], ids=["bare", "with"])
def test_leaving_ends_the_run(of: str, opened: bool) -> None:
    ran: list[int] = []

    async def main() -> Any:
        stream = _steps(ran).stream("go", journal=True)
        read = 0
        if opened:
            async with stream:
                async for _ in getattr(stream, of)():
                    read += 1
                    if ran:
                        break
        else:
            async for _ in getattr(stream, of)():
                if ran:
                    break
        before = list(ran)
        await asyncio.sleep(0.05)
        assert ran == before == [1]
        assert len(asyncio.all_tasks()) == 1
        await stream.aclose()
        return stream.result

    assert asyncio.run(main()).stop_reason == "cancelled"


@pytest.mark.parametrize("of", ["text", "outputs", "events"])
@pytest.mark.parametrize("how", ["break", "raise", "with", "close", "del", "cancel"])
def test_leaving_a_sync_stream_ends_the_run(of: str, how: str) -> None:
    ran: list[int] = []
    stream = _steps(ran).stream_sync("go")
    if how == "with":
        with stream:
            for _ in getattr(stream, of)():
                if ran:
                    break
            assert stream.result.stop_reason == "cancelled"
    elif how in ("break", "raise", "cancel"):
        try:
            for _ in getattr(stream, of)():
                if ran and how == "raise":
                    raise KeyError
                if ran and how == "cancel":
                    stream.cancel()
                elif ran:
                    break
        except KeyError:
            pass
    else:
        reading = getattr(stream, of)()
        while not ran:
            next(reading)
        if how == "close":
            stream.close()
            assert list(reading) == []
        del reading
    assert stream.result.stop_reason == "cancelled"
    assert ran == [1]
    assert repr(stream).startswith("<SyncStream done of ")


# ---- without an event loop ----


def test_a_sync_stream_is_a_run_in_the_caller_s_thread(serve: Any, wire: str) -> None:
    server = serve(calls(Call("look", {"n": 1}), text="Wait."), text(LONG).slowly(0.02))
    agent = agent_at(server, wire, tools=[look])
    seen: list[float] = []
    names = []
    with agent.stream_sync("go") as stream:
        assert isinstance(stream, SyncStream) and stream.state == "running"
        with pytest.raises(UsageError) as caught:
            _ = stream.result
        assert caught.value.code == "not_finished"
        for event in stream:
            names.append(event.type)
            if event.type == "text_delta":
                seen.append(time.monotonic())
    assert names[-1] == "run_finished" and "tool_finished" in names
    assert seen[-1] - seen[0] > 0.04, "it came all at once"
    assert stream.result.final == LONG and stream.state == "done"
    heard: list[Any] = []
    Agent(Whole("done")).run_sync("go", on_event=heard.append)
    assert [type(event) for event in Agent(Whole("done")).stream_sync("go")] == [type(event) for event in heard]


def test_a_sync_stream_within_a_running_loop() -> None:
    async def main() -> Any:
        await asyncio.sleep(0)
        stream = Agent(Whole("[1, 2]", later=True), output_type=list[int]).stream_sync("go")
        assert list(stream.items()) == [1, 2]
        return stream.result

    assert asyncio.run(main()).output == [1, 2]


def test_a_sync_stream_does_not_go_ahead_of_its_reader() -> None:
    ran: list[int] = []
    finished = 0
    for event in _steps(ran).stream_sync("go"):
        time.sleep(0.002)
        finished += isinstance(event, ToolFinished)
        assert len(ran) <= finished + 1
        if isinstance(event, (ToolStarted, RoundStarted)):
            assert len(ran) == finished, "what is announced has not begun"
    assert ran == [1, 2, 3, 4, 5, 6]


def test_a_sync_stream_may_be_cancelled_from_another_thread() -> None:
    @tool
    def wait() -> str:
        """Waits."""
        time.sleep(0.3)
        return "late"

    stream = Agent(Whole(Response("", [Call("wait", {})]), "done"), tools=[wait]).stream_sync("go")
    threading.Timer(0.1, stream.close).start()
    events = list(stream)
    assert isinstance(events[-1], RunFinished)
    assert stream.result.stop_reason == "cancelled"


def test_a_sync_stream_frees_its_journal_when_it_was_left(tmp_path: Any) -> None:
    place = tmp_path / "one.jsonl"
    agent = _steps([])
    for event in agent.stream_sync("go", journal=place):
        if isinstance(event, ToolStarted):
            break
    with pytest.raises(UsageError, match="has ended") as caught:
        agent.resume_sync(place)
    assert caught.value.code != "journal_in_use"


def test_what_cannot_be_begun_is_said_before_the_loop() -> None:
    with pytest.raises(UsageError, match="prompt is empty"):
        Agent(Whole("x")).stream_sync(" ")
    with pytest.raises(UsageError):
        Agent(Whole("x")).stream_sync("go", signal="no")  # type: ignore[arg-type]


# ---- left bare ----


async def _broken_off(stream: Any, event: Any) -> None:
    async for each in stream:
        if isinstance(each, event):
            break


async def _raised(stream: Any, event: Any) -> None:
    with pytest.raises(KeyError):
        async for each in stream:
            if isinstance(each, event):
                raise KeyError


async def _outer(stream: Any, event: Any) -> None:
    async def outer() -> Any:
        async for each in stream:
            yield each

    made = outer()
    async for each in made:
        if isinstance(each, event):
            break
    await made.aclose()


async def _cancelled(stream: Any, event: Any) -> None:
    reached = asyncio.Event()

    async def read() -> None:
        async for each in stream:
            if isinstance(each, event):
                reached.set()
                await asyncio.sleep(30)

    task = asyncio.create_task(read())
    await reached.wait()
    task.cancel()
    await asyncio.wait([task])


async def _dropped(stream: Any, event: Any) -> None:
    while not isinstance(await stream.__anext__(), event):
        pass


async def _drawn_off(stream: Any, event: Any) -> None:
    async for _ in stream.text():
        break


def _resources(recwarn: Any) -> list[str]:
    """What was warned of."""
    return [str(each.message) for each in recwarn]


LEFT = [_broken_off, _raised, _outer, _cancelled, _dropped, _drawn_off]


@pytest.mark.parametrize("leave", LEFT)
def test_a_stream_that_was_left_bare_says_so_once(leave: Any, recwarn: Any, caplog: Any) -> None:
    warnings.simplefilter("always")

    async def main() -> None:
        agent = _steps([])
        agent.name = "packer"
        await leave(agent.stream("go"), ToolStarted)
        gc.collect()
        await asyncio.sleep(0.02)

    asyncio.run(main())
    gc.collect()
    said = _resources(recwarn)
    assert len(said) == 1, said
    assert said[0].startswith("RunStream of <Agent whole")
    assert "async with agent.stream(" in said[0] and "aclose()" in said[0]
    assert not caplog.records


@pytest.mark.parametrize("leave", LEFT)
@pytest.mark.parametrize("close", ["aclose", "async with"])
def test_a_stream_that_was_closed_says_nothing(leave: Any, close: str, recwarn: Any) -> None:
    warnings.simplefilter("always")

    async def main() -> None:
        stream = _steps([]).stream("go")
        if close == "aclose":
            await leave(stream, ToolStarted)
            await stream.aclose()
        else:
            async with stream:
                await leave(stream, ToolStarted)
        del stream
        gc.collect()
        whole = Agent(Whole("done")).stream("go")
        async for _ in whole:
            pass
        async for event in Agent(Whole("done")).stream("go"):
            if isinstance(event, RunFinished):
                break
        Agent(Whole("done")).stream("go")
        with pytest.raises(KeyError):
            await Agent(Whole()).run("go", on_event=lambda _: {}["x"])
        run = _steps([]).start("go")
        await asyncio.sleep(0)
        run.cancel()
        await run

    asyncio.run(main())
    gc.collect()
    assert not _resources(recwarn)


def test_a_run_that_failed_was_read_to_its_end(recwarn: Any) -> None:
    warnings.simplefilter("always")

    async def main() -> None:
        with pytest.raises(IndexError):
            async for _ in Agent(Whole()).stream("go"):
                pass

    asyncio.run(main())
    with pytest.raises(IndexError):
        list(Agent(Whole()).stream_sync("go"))
    gc.collect()
    assert not _resources(recwarn)


def test_a_sync_stream_says_so_where_nobody_ended_it(recwarn: Any) -> None:
    warnings.simplefilter("always")
    stream = _steps([]).stream_sync("go")
    for _ in range(3):
        next(stream)
    del stream
    gc.collect()
    (said,) = _resources(recwarn)
    assert "with agent.stream_sync(" in said
    recwarn.clear()
    for event in _steps([]).stream_sync("go"):
        if isinstance(event, ToolStarted):
            break
    with _steps([]).stream_sync("go") as stream:
        next(stream)
    del stream
    gc.collect()
    assert not _resources(recwarn), "a loop that was left has ended its run by then"


# ---- JSON that is still being written ----


@pytest.mark.parametrize("step", [1, 2, 7])
def test_growing_json_holds_the_beginning_of_what_it_will_hold(step: int) -> None:
    value = {"a": 'x\\"y😀\n', "b": [True, False, None, -1.5, {"c": []}], "d": {"e": "]}"}, "f": 12}
    for ascii_only in (True, False):
        words = "So: " + json.dumps(value, ensure_ascii=ascii_only) + " Done {"
        growing = GrowingJson(lists=False)
        for at in range(0, len(words), step):
            growing.add(words[at : at + step])
            found = growing.so_far()
            assert found is None or _begins(found, value), (words[: at + step], found)
        assert growing.so_far() == value and growing.over


def _begins(found: Any, whole: Any) -> bool:
    if isinstance(whole, dict):
        return all(key in whole and _begins(each, whole[key]) for key, each in found.items())
    if isinstance(whole, list):
        return len(found) <= len(whole) and all(_begins(each, other) for each, other in zip(found, whole, strict=False))
    if isinstance(whole, str):
        return whole.startswith(found)
    if isinstance(whole, (bool, type(None))):
        return found is whole
    return json.dumps(whole).startswith(json.dumps(found).removesuffix(".0"))


@pytest.mark.parametrize(
    "words", ["", "{", "}", "[}", "{]", "]]", '"', "\\", '{"a" "b":1}', "[1,,2]", "[" * 300, "{'a'"]
)
def test_growing_json_takes_whatever_comes(words: str) -> None:
    for step in (1, 5):
        growing = GrowingJson()
        for at in range(0, len(words), step):
            growing.add(words[at : at + step])
            growing.so_far()
