"""Runs that overflow the model's window, over real sockets: what is sent, told, recalled, replayed."""

from __future__ import annotations

import itertools
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from loopwright import Agent, Budget, ContextPolicy, Message, Model, UsageError, replay, tool
from loopwright._core import Request
from loopwright.context import estimate, window_of
from loopwright.events import Compacted, ToolFinished, ToolStarted
from loopwright.models import Call, Response
from loopwright.testing import Reply, ScriptedModel, WireServer, calls, fault, response, text
from loopwright.tokens import count_tokens
from loopwright.tools.builtin import builtin_tools
from ways import KEY, WIRES, agent_at, history_of, run, tools_of, unmarked

ROUNDS = 40


def secret(n: int) -> str:
    return f"secret_{n} = {1_000_003 + 7_919 * n}"


@tool(read_only=True)
def read(n: int) -> str:
    """Read a file.

    Args:
        n: Its number.
    """
    lines = [f"    let value_{n * 31 + at} = step_{at % 7}(input, {n * at});" for at in range(60)]
    return "\n".join([f"// file {n}", *lines, secret(n)])


def script(rounds: int, *asked: Call) -> list[Reply]:
    reads = [calls(Call("read", {"n": n}, f"c{n}")) for n in range(rounds)]
    return [*reads, *(calls(each) for each in asked), text("All read.")]


def agent(server: WireServer, wire: str, model: str = "gpt-4o", **options: Any) -> Agent[Any, Any]:
    options.setdefault("tools", [read])
    options.setdefault("budget", Budget(rounds=500, tool_rounds=500))
    return Agent(Model(f"{WIRES[wire].partition(':')[0]}:{model}", base_url=server.url, api_key=KEY), **options)


def said(body: dict[str, Any]) -> list[Any]:
    if "contents" in body:
        return history_of(body, "gemini")
    found: list[Any] = body["input"] if "input" in body else body["messages"]
    return found


def size(body: dict[str, Any]) -> int:
    """A request's tokens, tools and instructions included."""
    is_ours = "contents" not in body and "inferenceConfig" not in body and "toolConfig" not in body
    return count_tokens(body if is_ours else json.dumps(body), model="gpt-4o")


def named(body: dict[str, Any]) -> list[str]:
    return [each.get("name") or each["function"]["name"] for each in tools_of(body)]


def prefixes(bodies: list[dict[str, Any]]) -> list[int]:
    """The requests, by their place, whose history does not begin with that of the one before."""
    # Anthropic's marks for its cache move on; they are no part of what is said.
    plain = [[unmarked(each) for each in said(body)] for body in bodies]
    return [at for at in range(1, len(plain)) if plain[at][: len(plain[at - 1])] != plain[at - 1]]


def test_c26_c06_a_run_that_overflows_its_window_several_times(serve: Any, wire: str, way: str) -> None:
    asked = [Call("recall", {"find": f"secret_{n} ="}, f"r{n}") for n in (0, 7, 20)]
    server = serve(*script(ROUNDS, *asked))
    # The server reports usage of its own invention; the budget holds by the model's own tokens all the same.
    result, events = run(
        agent(server, wire, context=8_000, instructions="Never touch tests/."), "Read all the files.", way
    )
    assert result.stop_reason == "natural"
    assert result.final == "All read."
    bodies = [each["body"] for each in server.requests]
    assert len(bodies) == ROUNDS + len(asked) + 1
    assert max(map(size, bodies)) <= 8_000
    # Compactions are far apart, and between them the beginning stays as it is.
    changed = prefixes(bodies)
    assert 4 <= len(changed) <= ROUNDS // 3
    assert all("Read all the files." in json.dumps(said(body)) for body in bodies)
    # Before the first there is nothing to recall, then the tool is on offer.
    assert all(named(body) == ["read"] for body in bodies[: changed[0]])
    assert all(named(body) == ["read", "recall"] for body in bodies[changed[0] :])
    # What left comes back, without any tool of ours, and nothing of the run's own history is lost.
    recalled = [each for each in result.tool_calls if each.name == "recall"]
    assert len(recalled) == len(asked)
    for place, n in enumerate((0, 7, 20)):
        assert secret(n) in json.dumps(said(bodies[ROUNDS + place + 1])[-1])
    history = json.dumps([message.to_dict() for message in result.messages])
    assert all(secret(n) in history for n in range(ROUNDS))
    if way == "stream":
        told = [event for event in events if isinstance(event, Compacted)]
        assert [event.round - 1 for event in told] == changed
        for event in told:
            assert event.after < event.before
            assert event.after <= event.budget * 0.6 + 1
            assert event.reason == "full"
            fates = [event.kept, event.shortened, event.referenced, event.summarised, event.dropped]
            assert sum(each["messages"] for each in fates) == len(said_messages(event, result))
            assert sum(each["before"] for each in fates) > event.budget * 0.8
        started = [event for event in events if isinstance(event, ToolStarted) and event.name == "recall"]
        finished = [event for event in events if isinstance(event, ToolFinished) and event.name == "recall"]
        assert len(started) == len(finished) == len(asked)
        assert not any(event.is_error for event in finished)


def said_messages(event: Compacted, result: Any) -> list[Any]:
    """The messages that there were before request `event.round`: a prompt, then two for each round."""
    return list(result.messages)[: 2 * event.round - 1]


def test_c26_a_journal_of_such_a_run_replays(serve: Any, wire: str) -> None:
    server = serve(*script(20, Call("recall", {"find": "secret_1 ="}, "r")))
    result, _ = run(agent(server, wire, context=6_000), "go", "run", journal=True)
    again = replay(result.journal)
    assert again.divergence is None
    assert again.outcome is not None
    assert again.outcome["final"] == "All read."
    assert len(again.messages) == len(result.messages)


def test_c26_a_conversation_goes_on_with_the_same_beginning(serve: Any, wire: str) -> None:
    server = serve(*script(30))
    one = agent(server, wire, context=8_000)
    first, _ = run(one, "Read all the files.", "run")
    last = server.requests[-1]["body"]
    more = serve(*["Yes."] * 6)
    two = agent(more, wire, context=8_000)
    # Stored as JSON in between, and read by another agent.
    messages = [Message.from_json(message.to_json()) for message in first.messages]
    for _ in range(6):
        result, _ = run(two, "Is that all?", "run", messages=messages)
        messages = list(result.messages)
    bodies = [last, *(each["body"] for each in more.requests)]
    assert len(prefixes(bodies)) <= 1
    assert max(map(size, bodies)) <= 8_000


MESSAGES = {
    "anthropic": "prompt is too long: 213462 tokens > 200000 maximum",
    "chat": "This model's maximum context length is 128000 tokens. However, your messages resulted in 160000 tokens.",
    "responses": "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "gemini": "The input token count (1300000) exceeds the maximum number of tokens allowed (1048576).",
    "bedrock": "Input is too long for requested model.",
}


def test_c26_a_request_that_the_provider_finds_too_long_goes_once_more_and_shorter(
    serve: Any, wire: str, way: str
) -> None:
    replies = script(12)
    replies.insert(10, fault.status(400, message=MESSAGES[wire]))
    server = serve(*replies)
    result, events = run(agent(server, wire), "Read all the files.", way)
    assert (result.final, result.rounds) == ("All read.", 13)
    bodies = [each["body"] for each in server.requests]
    assert len(bodies) == 14
    assert size(bodies[11]) < size(bodies[10]) * 0.75
    assert prefixes(bodies) == [11]
    if way == "stream":
        (told,) = [event for event in events if isinstance(event, Compacted)]
        assert (told.round, told.reason) == (11, "refused")
    # Once for each request: a provider that never has enough ends the run.
    server = serve(*script(6)[:-1], *[fault.status(400, message=MESSAGES[wire])] * 2)
    with pytest.raises(Exception, match="provider answered 400") as raised:
        run(agent(server, wire), "Read all the files.", way)
    assert raised.value.result.stop_reason == "context_window"  # type: ignore[attr-defined]
    assert server.pending == 0


def test_c26_what_the_provider_reports_counts(serve: Any) -> None:
    def reply(n: int, tokens: int) -> Reply:
        block = {"type": "tool_use", "id": f"c{n}", "name": "read", "input": {"n": n}}
        usage = {"input": tokens, "output": 5}
        return response({"message": {"role": "assistant", "content": [block]}, "stop": "tool_use", "usage": usage})

    compacted = {}
    for factor in (1, 3):
        server = serve(*[reply(n, factor * (400 + 1_500 * n)) for n in range(12)], text("All read."))
        result, events = run(agent(server, "chat", context=24_000), "Read.", "stream")
        assert result.final == "All read."
        compacted[factor] = [event.round for event in events if isinstance(event, Compacted)]
    assert not compacted[1]
    assert compacted[3]
    assert compacted[3][0] < 9


def test_c26_what_can_not_fit_is_a_typed_error_that_names_it(serve: Any, wire: str, way: str) -> None:
    server = serve("never")
    with pytest.raises(UsageError, match="message 0 .the goal") as raised:
        run(agent(server, wire, context=2_000), "word " * 4_000, way)
    assert raised.value.code == "budget_too_small"
    assert raised.value.result is not None
    assert raised.value.result.stop_reason == "context_window"
    assert not server.requests
    # Of a model that nobody knows, the provider is asked all the same.
    server = serve("fine")
    result, _ = run(agent_at(server, wire), "word " * 40_000, way)
    assert result.final == "fine"
    assert any("context_unknown" in warning for warning in result.warnings)


def test_c26_it_is_on_by_default_and_can_be_switched_off(serve: Any, wire: str) -> None:
    history = [message for n in range(60) for message in (Message.user(read.function(n)), Message.assistant("Noted."))]
    assert estimate(history, model="gpt-4") > 40_000
    for context, fits in ((None, True), (True, True), (False, False), (ContextPolicy(window=200_000), False)):
        server = serve("yes")
        # The window of gpt-4 is 8,192 tokens, by the table.
        run(agent(server, wire, "gpt-4", context=context, tools=[]), "What was that?", "run", messages=history)
        (request,) = server.requests
        sent = size(request["body"])
        assert (sent < window_of("gpt-4")) is fits, sent
        assert named(request["body"]) == (["recall"] if fits else [])


@pytest.mark.parametrize(
    "context", [0, -1, 1.5, "100", {"budget": 1}, [1], ContextPolicy, float("nan")], ids=lambda value: repr(value)[:20]
)
def test_c26_a_context_that_can_not_be_is_named(context: Any) -> None:
    with pytest.raises(UsageError) as raised:
        Agent(Model("openai:gpt-4o", api_key=KEY), context=context)
    assert raised.value.code == "invalid_option"


@pytest.mark.parametrize(
    "options",
    [{"budget": 0}, {"window": True}, {"high": 0.5, "low": 0.6}, {"high": 2}, {"low": "x"}, {"policy": 3}],
    ids=str,
)
def test_c26_a_policy_that_can_not_be_is_named(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        ContextPolicy(**options)


def test_c26_a_policy_with_unknown_keys_is_named() -> None:
    with pytest.raises(UsageError, match="keep_lost"):
        Agent(Model("openai:gpt-4o", api_key=KEY), context=ContextPolicy(policy={"keep_lost": 1}))


def test_c26_a_tool_of_the_callers_that_is_named_recall_stays_theirs(serve: Any, wire: str) -> None:
    @tool(read_only=True)
    def recall(find: str = "") -> str:
        """Recall a product."""
        return f"recalled by the shop: {find}"

    asked = [Call("recall", {"find": "x"}, "r1"), Call("recall_context", {"find": "secret_0 ="}, "r2")]
    server = serve(*script(15, *asked))
    result, _ = run(agent(server, wire, context=6_000, tools=[read, recall]), "go", "run")
    sent = [json.dumps(said(each["body"])[-1]) for each in server.requests]
    assert "recalled by the shop: x" in sent[16]
    assert secret(0) in sent[17]
    assert result.final == "All read."


LINES = [f"line {n}: the value of {n * 7_919 % 1_000} is kept for a later check" for n in range(600)]
ROWS = [
    f"| {n} | customer-{n:03} | {n * 37 % 1_000}.{n * 13 % 100:02} EUR | 2026-03-{n % 28 + 1:02} |" for n in range(90)
]
HEAD = "| no | customer | amount | date |\n|----|----------|--------|------|"


@tool(read_only=True)
def orders() -> str:
    """All orders, as a table."""
    return "\n".join([HEAD, *ROWS])


class Pager:
    """A model that reads a result to its end, as the notes in it say how, and what it saw of it."""

    def __init__(self, first: Call) -> None:
        self.first = first
        self.pages: list[str] = []
        self.requests: list[list[str]] = []

    def __call__(self, request: Request) -> Response | str:
        results = results_of(request)
        if not results:
            return called(self.first)
        self.pages.append(results[-1])
        self.requests.append(results)
        onward = re.search(r'goes on: recall\("(\w+)", from_line=(\d+)\)\]$', results[-1])
        if onward is None:
            return "Read to the end."
        where = {"handle": onward[1], "from_line": int(onward[2])}
        return called(Call("recall", where, f"c{len(self.pages)}"))


def called(each: Call) -> Response:
    return Response(calls=[each])


def results_of(request: Request) -> list[str]:
    blocks = [block for message in request.messages for block in message.to_dict()["content"]]
    given = [block["content"] for block in blocks if block["type"] == "tool_result"]
    return [each if isinstance(each, str) else "".join(part["text"] for part in each) for each in given]


@pytest.mark.parametrize("window", [4_096, 8_192, 16_384])
@pytest.mark.parametrize("what", ["table", "file"])
def test_c26_a_result_that_does_not_fit_is_read_page_by_page(what: str, window: int, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("\n".join(LINES))
    wanted = ROWS if what == "table" else LINES
    pager = Pager(Call("orders", {}, "c0") if what == "table" else Call("read_file", {"path": "notes.txt"}, "c0"))
    read_file = next(each for each in builtin_tools(tmp_path) if each.name == "read_file")
    budget = Budget(rounds=200, tool_rounds=200)
    model = ScriptedModel([pager] * 80)
    reader = Agent(model, tools=[orders, read_file], context=ContextPolicy(window=window), budget=budget)
    result = reader.run_sync("Read all of it.")
    assert result.final == "Read to the end."
    assert [page for page in pager.pages if "alike]" in page] == []
    # Every line came, in order, and of a table every page has the head.
    end = re.search(r"\[lines 1 to (\d+) of", pager.pages[0])
    first = pager.pages[0].splitlines()[: int(end[1])] if end else pager.pages[0].splitlines()
    pages = [first, *(page.splitlines() for page in pager.pages[1:])]
    seen = [line for page in pages for line in wanted_of(page, wanted)]
    assert seen == wanted
    if what == "table":
        assert all(page[:2] == HEAD.split("\n") for page in pages)
    # No more calls than there are pages as large as the first.
    assert len(result.tool_calls) <= math.ceil(len(wanted) / len(wanted_of(first, wanted)))
    # What came last is whole, and so is what came before it where it was asked back.
    for before, after in itertools.pairwise(pager.requests[1:]):
        assert after[-2] == before[-1]


def wanted_of(page: list[str], wanted: list[str]) -> list[str]:
    lines = [line.split("\t")[-1] for line in page]
    known = set(wanted)
    return [line for line in lines if line in known]


def test_c17_the_last_two_results_stay_whole_in_a_small_window() -> None:
    sizes = [90, 40, 90, 60, 20, 90, 40]
    answers: list[str] = []

    @tool(read_only=True)
    def measure(n: int) -> str:
        """Measure.

        Args:
            n: Its number.
        """
        answers.append("\n".join(f"sensor {n}-{at} gave {at * 31 % 97} volts" for at in range(sizes[n])))
        return answers[-1]

    seen: list[list[str]] = []

    def step(n: int) -> Any:
        def answer(request: Request) -> Response | str:
            seen.append(results_of(request))
            return called(Call("measure", {"n": n}, f"c{n}")) if n < len(sizes) else "Measured."

        return answer

    model = ScriptedModel([step(n) for n in range(len(sizes) + 1)])
    reader = Agent(
        model, tools=[measure], context=ContextPolicy(budget=3_600), budget=Budget(rounds=50, tool_rounds=50)
    )
    assert reader.run_sync("Measure them all.").final == "Measured."
    for n, results in enumerate(seen):
        assert results[-2:] == answers[max(0, n - 2) : n]
    assert len(seen[-1]) < len(sizes) or seen[-1] != answers


@pytest.mark.parametrize("words", [10, 25, 50])
def test_c2_a_chat_is_told_of_a_compaction_where_its_requests_begin_otherwise_and_only_there(words: int) -> None:
    """A conversation over many runs: the request of each begins like that of the run before, unless it was told."""
    model = ScriptedModel([text(" ".join(f"w{turn}n{n}" for n in range(words))) for turn in range(30)])
    agent = Agent(model, context=ContextPolicy(budget=4_000))
    history: Any = None
    told = []
    before: list[Any] = []
    for turn in range(30):
        events: list[Any] = []
        question = f"Question {turn}: " + " ".join(f"q{turn}n{n}" for n in range(words))
        result = agent.run_sync(question, messages=history, on_event=events.append)
        history = result.messages
        request = [message.to_dict() for message in model.requests[-1].messages]
        told.append(any(isinstance(event, Compacted) for event in events))
        assert told[-1] == (request[: len(before)] != before), turn
        before = request
    # The window was passed at all, and not at each turn.
    assert 1 <= sum(told) <= 15
