"""Requests that go on from the answer before, over real sockets: what is new is sent, and nothing is lost."""

from __future__ import annotations

import asyncio
import itertools
import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from loopwright import Agent, Budget, Message, Model, SubAgent, UsageError, replay, tool
from loopwright.hooks import Hook, Replace
from loopwright.models import Call
from loopwright.roles import Role
from loopwright.testing import Reply, WireServer, calls, fault, recorded, response, text

RETRY = {"base": 0.001, "cap": 0.001}
LONG = Budget(rounds=400, tool_rounds=400)


@tool(read_only=True)
def page(number: int) -> str:
    """Reads one page of the book.

    Args:
        number: The number of the page, from 1.
    """
    return f"Page {number}. " + " ".join(f"word{number * 7919 + at}" for at in range(600))


@tool(read_only=True)
def search(words: str, most: int = 10) -> list[str]:
    """Finds the pages of the book on which all of some words stand.

    Args:
        words: The words, with spaces between them.
        most: How many pages are given at most.
    """
    return [words] * most


def turn(number: int) -> Reply:
    return calls(Call("page", {"number": number}, call_id=f"call_{number}"), text=f"I read page {number}.")


def script(turns: int) -> list[Reply]:
    return [*[turn(number) for number in range(1, turns)], text("I have read it.")]


def model(server: WireServer, **options: Any) -> Model:
    given: dict[str, Any] = {"api_key": "k", "retry": RETRY, "continued": True, **options}
    return Model("openai-responses:gpt-5", base_url=server.url, **given)


def reader(server: WireServer, **options: Any) -> Agent[Any, Any]:
    # The window of the model would fill, and a compaction sends the whole.
    return Agent(
        model(server, **options),
        context=False,
        tools=[page, search],
        instructions="Read the book, page by page.",
        budget=LONG,
    )


def size(value: object) -> int:
    return len(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode())


def sent(server: WireServer) -> list[dict[str, Any]]:
    return [request["body"] for request in server.requests]


def new_of(bodies: list[dict[str, Any]]) -> int:
    """Bytes of what is new in whole requests: all of the first one, and of each other the results of tools and the
    words of users that the one before had not. What the model said itself is new to nobody.
    """
    new = size(bodies[0])
    for before, after in itertools.pairwise(bodies):
        behind = after["input"][len(before["input"]) :]
        new += size(
            [item for item in behind if item.get("type") == "function_call_output" or item.get("role") == "user"]
        )
    return new


def once(items: list[dict[str, Any]], pages: int) -> None:
    """Each call and each result stands once in a conversation."""
    for kind in ("function_call", "function_call_output"):
        ids = [item["call_id"] for item in items if item.get("type") == kind]
        assert ids == [f"call_{number}" for number in range(1, pages + 1)], kind
    assert sum(item.get("role") == "user" for item in items) == 1


def last_of(server: WireServer) -> list[dict[str, Any]]:
    return max(server.stored.values(), key=len)


def told(journal: Any) -> list[Any]:
    """The lines of a journal but for ids and times, and what is made of them: each server has a port of its own, which
    stands with an answer, so digests of histories and lines differ as well.
    """
    apart = {"id", "at", "run", "seed", "duration", "host", "history", "sum", "previous_response_id"}

    def bare(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: bare(each) for key, each in value.items() if key not in apart}
        return [bare(each) for each in value] if isinstance(value, list) else value

    return [bare(json.loads(line)) for line in str(journal).splitlines() if line]


@pytest.mark.parametrize("stream", [False, True])
def test_a_run_of_two_hundred_turns_sends_what_is_new(stream: bool) -> None:
    on_event = (lambda event: None) if stream else None
    with WireServer(script(200), by_turn=True, stored=True) as server:
        usual = reader(server, continued=False).run_sync("Read it.", on_event=on_event, journal=True)
        whole = sent(server)
    with WireServer(script(200), by_turn=True, stored=True) as server:
        result = reader(server).run_sync("Read it.", on_event=on_event, journal=True)
        short = sent(server)
        once(last_of(server), 199)
    assert (result.final, result.stop_reason, len(short)) == ("I have read it.", "natural", 200)
    assert (usual.final, len(whole)) == (result.final, 200)
    assert [each.text for each in usual.messages] == [each.text for each in result.messages]
    assert told(usual.journal) == told(result.journal)
    ratio = sum(map(size, short)) / new_of(whole)
    print(f"sent {sum(map(size, short))}, new {new_of(whole)}, whole {sum(map(size, whole))}: {ratio:.3f}")
    assert ratio <= 1.2
    assert all(len(body["input"]) == 1 and body["store"] is True for body in short)
    assert not result.warnings


@pytest.mark.parametrize("over", [True, "websocket"])
def test_calls_that_are_named_alike_go_on_under_the_providers_names(over: Any) -> None:
    """Ids that repeat are told apart in the history; the provider knows each call by the id that it gave."""
    names = ["call_0", "call_0", "call_1", "call_0", "functions.page:0", "call|1", "call 1", "functions.page:0"]
    turns = [
        calls(Call("page", {"number": at + 1}, call_id=name), Call("search", {"words": f"w{at}"}, call_id=f"{name}_s"))
        for at, name in enumerate(names)
    ]
    with WireServer([*turns, text("I have read it.")], by_turn=True, stored=True) as server:
        result = reader(server, continued=over).run_sync("Read it.", journal=True)
    assert (result.final, result.warnings, replay(result.journal).identical) == ("I have read it.", [], True)
    sent = [request["body"] for request in server.requests]
    assert ["previous_response_id" in body for body in sent] == [False] + [True] * len(names)
    answered = [[item["call_id"] for item in body["input"]] for body in sent[1:]]
    assert answered == [[name, f"{name}_s"] for name in names]


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_that_is_forgotten_takes_nothing_with_it(stream: bool) -> None:
    on_event = (lambda event: None) if stream else None
    with WireServer(script(9), by_turn=True, stored=True) as server:

        @tool(read_only=True)
        def page(number: int) -> str:
            """Reads one page."""
            if number in (3, 6):
                server.forget()
            return f"Page {number}."

        result = Agent(model(server), tools=[page], budget=LONG).run_sync("Read it.", on_event=on_event)
        assert result.final == "I have read it."
        once(last_of(server), 8)
        # The requests behind pages 3 and 6 were refused, and the whole went at once.
        places = [(len(body["input"]), "previous_response_id" in body) for body in sent(server)]
        assert places[3:5] == [(1, True), (10, False)] and places[7:9] == [(1, True), (19, False)]
        assert sum(not named for _, named in places) == 3
        assert [each for each in result.warnings if "had not kept the last answer" in each] == [
            "adapted: openai-responses had not kept the last answer: the whole history was sent"
        ]
        assert result.rounds == 9, "a refusal is no attempt"


def test_a_provider_that_keeps_nothing_is_asked_three_times_at_most() -> None:
    with WireServer(script(12), by_turn=True, stored=True) as server:

        @tool(read_only=True)
        def page(number: int) -> str:
            """Reads one page."""
            server.forget()
            return f"Page {number}."

        assert Agent(model(server), tools=[page], budget=LONG).run_sync("Read it.").final == "I have read it."
        assert ["previous_response_id" in body for body in sent(server)].count(True) == 3
        assert len(sent(server)) == 12 + 3
        once(sent(server)[-1]["input"], 11)


def test_a_provider_that_takes_no_names_is_asked_once() -> None:
    def refused(code: str | None) -> Reply:
        error = {
            "message": "Unsupported parameter: previous_response_id",
            "param": "previous_response_id",
            "code": code,
        }
        return recorded(400, "application/json", {"error": {"type": "invalid_request_error", **error}})

    for code in (None, "unsupported_parameter"):
        with WireServer([turn(1), refused(code), turn(2), turn(3), text("I have read it.")]) as server:
            assert Agent(model(server), tools=[page], budget=LONG).run_sync("Read it.").final == "I have read it."
            assert ["previous_response_id" in body for body in sent(server)] == [False, True, False, False, False]
            once(sent(server)[-1]["input"], 3)


def test_a_journal_replays_and_a_resumed_run_begins_with_the_whole(tmp_path: Path) -> None:
    place = tmp_path / "run.jsonl"
    with WireServer(script(6), by_turn=True, stored=True) as server:
        whole = Agent(model(server), tools=[page], budget=LONG).run_sync("Read it.", journal=True)
        assert replay(whole.journal).messages[-1].text == "I have read it."
        # The run broke off behind its third answer.
        lines = str(whole.journal).splitlines(keepends=True)
        answers = [at for at, line in enumerate(lines) if '"generated"' in line]
        place.write_text("".join(lines[: answers[2] + 1]))
        before = len(sent(server))
        result = Agent(model(server), tools=[page], budget=LONG).resume_sync(place)
        assert result.final == "I have read it."
        places = [(len(body["input"]), "previous_response_id" in body) for body in sent(server)[before:]]
        assert places == [(10, False), (1, True), (1, True)]


def test_a_hook_that_rewrites_what_was_sent_sends_the_whole() -> None:
    def renamed(context: Any) -> Replace | None:
        """From the third round on the prompt is another one."""
        if context.round < 3:
            return None
        return Replace({"messages": [Message.user("Read all of it."), *context.subject.messages[1:]]})

    with WireServer(script(5), by_turn=True, stored=True) as server:
        agent = Agent(model(server), tools=[page], budget=LONG, hooks=[Hook("pre_llm", renamed)])
        assert agent.run_sync("Read it.").final == "I have read it."
        named = ["previous_response_id" in body for body in sent(server)]
        assert named.count(False) == 2 and not named[0], named
        once(last_of(server), 4)
        assert last_of(server)[0]["content"] == "Read all of it."


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("signature", [{}, {"signature": "proof"}])
def test_reasoning_need_not_go_back(signature: dict[str, str], stream: bool) -> None:
    on_event = (lambda event: None) if stream else None

    def thought(number: int) -> Reply:
        call = {"type": "tool_use", "id": f"call_{number}", "name": "page", "input": {"number": number}}
        blocks = [{"type": "thinking", "text": f"I think of {number}.", **signature}, call]
        whole = {"message": {"role": "assistant", "content": blocks}, "stop": "tool_use", "model": "gpt-5"}
        return response({"id": f"resp_of_{number}", "usage": {"input": 1, "output": 1}, **whole})

    with WireServer([*map(thought, range(1, 4)), "Done."], stored=True) as server:
        agent = Agent(model(server, settings={"effort": "low"}), tools=[page])
        assert agent.run_sync("Read it.", on_event=on_event).final == "Done."
        assert [[item.get("type") for item in body["input"]] for body in sent(server)[1:]] == [
            ["function_call_output"]
        ] * 3
        once(last_of(server), 3)
        assert [item.get("type") for item in last_of(server)].count("reasoning") == 3


def test_a_role_goes_on_from_answers_of_its_own() -> None:
    with WireServer([turn(1), turn(2), text("One."), turn(3), text("Two.")], stored=True) as server:
        agent = Agent(Role(model(server)), tools=[page], budget=LONG)
        assert [agent.run_sync("Read it.").final for _ in range(2)] == ["One.", "Two."]
        assert ["previous_response_id" in body for body in sent(server)] == [False, True, True, False, True]


@pytest.mark.parametrize("stream", [False, True])
def test_a_server_that_takes_no_notice_of_the_answer_is_asked_with_the_whole(stream: bool) -> None:
    on_event = (lambda event: None) if stream else None
    script = [turn(1), "I know nothing.", turn(2), turn(3), "I have read it."]
    with WireServer(script) as server:
        result = Agent(model(server), tools=[page], budget=LONG).run_sync("Read it.", on_event=on_event)
        bodies = sent(server)
    assert result.final == "I have read it."
    assert ["previous_response_id" in body for body in bodies] == [False, True, False, False, False]
    assert [item["role"] for item in bodies[2]["input"] if "role" in item] == ["user", "assistant"]
    once(bodies[-1]["input"], 3)
    told = [each for each in result.warnings if "took no notice of previous_response_id" in each]
    assert len(told) == (0 if stream else 1)


def test_failures_in_between_send_nothing_twice() -> None:
    failing = [turn(1), fault.status(500), turn(2), fault.cut(after=3), turn(3), text("I have read it.")]
    with WireServer(failing, stored=True) as server:
        result = Agent(model(server), tools=[page], budget=LONG).run_sync("Read it.", on_event=lambda event: None)
        assert result.final == "I have read it."
        once(last_of(server), 3)
        assert ["previous_response_id" in body for body in sent(server)] == [False, *[True] * 5]


def test_two_runs_and_their_sub_agents_keep_apart() -> None:
    delegate = calls(Call("spawn", {"agent": "scout", "task": "Read three pages."}, call_id="call_0"))

    def reads(*numbers: int) -> list[Reply]:
        return [*[turn(number) for number in numbers], text("I have read it.")]

    with WireServer([delegate, turn(1), turn(2), text("Done.")], by_turn=True, stored=True) as parents:
        with WireServer(reads(1, 2, 3), by_turn=True, stored=True) as children:
            scout = SubAgent("scout", model=model(children), tools=[page])
            agent = Agent(model(parents), tools=[page], agents=[scout])

            async def both() -> list[Any]:
                return await asyncio.gather(*[agent.run(f"Question {number}?") for number in range(2)])

            results = asyncio.run(both())
            assert [result.final for result in results] == ["Done.", "Done."]
            for server, ends in ((parents, 2), (children, 2)):
                firsts = [body for body in sent(server) if "previous_response_id" not in body]
                named = [body["previous_response_id"] for body in sent(server) if "previous_response_id" in body]
                assert (len(firsts), len(named), len(set(named))) == (ends, 6, 6)
                # What the model said itself never goes back.
                assert not [item for body in sent(server) for item in body["input"] if item.get("role") == "assistant"]
                for items in sorted(server.stored.values(), key=len)[-2:]:
                    ids = [item["call_id"] for item in items if item.get("type") == "function_call_output"]
                    assert ids == (
                        ["call_0", "call_1", "call_2"] if server is parents else ["call_1", "call_2", "call_3"]
                    )


def test_what_changes_something_older_sends_the_whole() -> None:
    script = [*[turn(number) for number in range(1, 30)], text("I have read it.")]
    with WireServer(script, stored=True) as server:
        result = Agent(model(server), tools=[page], context=30_000, budget=LONG).run_sync("Read it.")
        bodies = sent(server)
        again = [body for body in bodies if "previous_response_id" not in body]
    assert result.final == "I have read it."
    # The first one, and one behind each compaction; all of the others hold one result.
    assert 2 <= len(again) <= 10
    assert all(len(body["input"]) == 1 for body in bodies if "previous_response_id" in body)
    assert not [each for each in result.warnings if "kept" in each]


def test_the_next_run_of_a_conversation_and_another_model_begin_with_the_whole() -> None:
    with WireServer([turn(1), "One.", "Two."], stored=True) as server:
        agent = Agent(model(server), tools=[page])
        first = agent.run_sync("Read it.")
        assert agent.run_sync("And now?", messages=first.messages).final == "Two."
        assert ["previous_response_id" in body for body in sent(server)] == [False, True, False]
        assert len(sent(server)[-1]["input"]) == 6
    with WireServer([turn(1), fault.status(500, should_retry=False), turn(2), "Two."], stored=True) as server:
        other = Model("openai-responses:gpt-5-mini", base_url=server.url, api_key="k", continued=True)
        assert Agent(model(server, fallback=[other]), tools=[page]).run_sync("Read it.").final == "Two."
        named = [(body["model"], "previous_response_id" in body) for body in sent(server)]
        assert named == [("gpt-5", False), ("gpt-5", True), ("gpt-5-mini", False), ("gpt-5-mini", True)]


def test_what_the_caller_says_of_the_state_holds() -> None:
    for body, first in (({"store": False}, False), ({"conversation": "conv_1"}, None)):
        with WireServer([turn(1), "One."], stored=True) as server:
            settings = {"extra_body": body}
            assert Agent(model(server, settings=settings), tools=[page]).run_sync("Read it.").final == "One."
            assert all("previous_response_id" not in body for body in sent(server))
            assert [body.get("store") for body in sent(server)] == [first] * 2 or body == {"conversation": "conv_1"}


def test_models_that_keep_no_answers_are_errors() -> None:
    for name in ("anthropic:claude-sonnet-4-5", "openai-chat:gpt-5", "gemini:gemini-2.5-pro", "ollama:llama3"):
        with pytest.raises(UsageError, match="keeps no answers") as failed:
            Model(name, continued=True)
        assert failed.value.code == "invalid_option" and "openai-responses:MODEL" in str(failed.value)
    with pytest.raises(UsageError, match="can't go together"):
        Model("openai:gpt-5", continued=True, batch=True)
    with pytest.raises(UsageError, match="continued can't be 'yes'"):
        Model("openai:gpt-5", continued="yes")  # type: ignore[arg-type]
    assert "continued=True" in repr(Model("openai:gpt-5", continued=True))


def test_the_double_refuses_an_answer_that_it_has_not_kept() -> None:
    refused = {
        "message": "Previous response with id 'resp_9' not found.",
        "type": "invalid_request_error",
        "param": "previous_response_id",
        "code": "previous_response_not_found",
    }
    with WireServer(["One.", "Two.", "Three."], stored=True) as server:

        def ask(**body: Any) -> dict[str, Any]:
            data = json.dumps({"model": "m", "input": "Hi.", **body}).encode()
            request = urllib.request.Request(f"{server.url}/v1/responses", data)  # noqa: S310
            try:
                with urllib.request.urlopen(request) as answer:  # noqa: S310
                    found: dict[str, Any] = json.load(answer)
                    return found
            except urllib.error.HTTPError as error:
                return {"status": error.code, **json.load(error)}

        assert ask(previous_response_id="resp_9") == {"status": 400, "error": refused}
        one = ask()
        two = ask(previous_response_id=one["id"], store=False)
        assert (one["previous_response_id"], two["previous_response_id"]) == (None, one["id"])
        assert ask(previous_response_id=two["id"])["error"]["code"] == "previous_response_not_found"
        assert [[item["role"] for item in items] for items in server.stored.values()] == [["user", "assistant"]]
        server.forget(one["id"])
        assert server.stored == {} and "error" in ask(previous_response_id=one["id"])
