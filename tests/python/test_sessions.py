"""A session's conversation goes on with each run, in the store of the journals."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from loopwright import Agent, Guard, Journal, LoopwrightError, Memory, Model, UsageError, replay, tool
from loopwright.testing import ScriptedModel, WireServer, call, fault

WAYS = ("run_sync", "run", "stream", "stream_sync", "start")


def told(way: str, agent: Agent[None, str], prompt: str, **options: Any) -> Any:
    """What a run gives."""

    async def main() -> Any:
        if way == "run":
            return await agent.run(prompt, **options)
        if way == "start":
            return await agent.start(prompt, **options)
        async with agent.stream(prompt, **options) as stream:
            async for _ in stream:
                pass
        return stream.result

    if way == "run_sync":
        return agent.run_sync(prompt, **options)
    if way == "stream_sync":
        with agent.stream_sync(prompt, **options) as stream:
            list(stream)
        return stream.result
    return asyncio.run(main())


def words(result: Any) -> list[str]:
    return [message.text for message in result.messages]


def agent(*steps: Any, **options: Any) -> Agent[None, str]:
    return Agent(ScriptedModel(list(steps)), **options)


@pytest.mark.parametrize("way", WAYS)
def test_n13_a_run_goes_on_with_the_conversation_of_its_session(way: str, tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    told(way, agent("Hello Sam."), "I am Sam.", session="one", journal=store)
    second = told(way, agent("You are Sam."), "Who am I?", session="one", journal=store)
    assert words(second) == ["I am Sam.", "Hello Sam.", "Who am I?", "You are Sam."]
    assert [message.text for message in second.new_messages] == ["Who am I?", "You are Sam."]
    other = told(way, agent("Nobody."), "Who am I?", session="two", journal=store)
    assert words(other) == ["Who am I?", "Nobody."]
    assert replay(store, second.run_id).identical


def test_n13_two_users_do_not_share_a_session(tmp_path: Path) -> None:
    store = Journal(tmp_path / "runs.db")
    for user in ("sam", "ann", None):
        options = {} if user is None else {"user": user}
        agent(f"Hello {user}.").run_sync(f"I am {user}.", session="main", journal=store, **options)
    for user in ("sam", "ann"):
        found = agent("Yes.").run_sync("And?", session="main", user=user, journal=store)
        assert words(found) == [f"I am {user}.", f"Hello {user}.", "And?", "Yes."]
    assert words(agent("Yes.").run_sync("And?", session="main", journal=store))[0] == "I am None."


def test_n13_an_agent_for_somebody_goes_on_with_that_user_s_conversation(tmp_path: Path) -> None:
    store, memory = tmp_path / "runs.db", Memory(tmp_path / "m.db")
    agent("Hello nobody.").run_sync("I am nobody.", session="trip", journal=store)
    sam = Agent(ScriptedModel(["Hello.", "Sam."]), memory=memory, journal=store).whom("sam")
    assert words(sam.run_sync("I am Sam.", session="trip")) == ["I am Sam.", "Hello."]
    assert words(sam.run_sync("Who am I?", session="trip")) == ["I am Sam.", "Hello.", "Who am I?", "Sam."]


def test_n13_messages_go_before_the_session_and_other_places_keep_none(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    agent("Hello.").run_sync("Hi.", session="one", journal=store)
    alone = agent("New.").run_sync("Anew.", session="one", journal=store, messages=[])
    assert words(alone) == ["Anew.", "New."]
    assert words(agent("b").run_sync("a", session="one", journal=store)) == ["Anew.", "New.", "a", "b"]
    for place in (None, True, tmp_path / "folder", tmp_path / "one.jsonl"):
        assert words(agent("b").run_sync("a", session="one", journal=place)) == ["a", "b"]


def test_n13_a_run_that_failed_is_not_gone_on_with(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    agent("Hello.").run_sync("Hi.", session="one", journal=store)
    with WireServer([fault.status(401)]) as server, pytest.raises(LoopwrightError):
        model = Model("openai-chat:test", base_url=f"{server.url}/v1", api_key="k", retry={"attempts": 1})
        Agent(model).run_sync("Lost.", session="one", journal=store)
    assert words(agent("b").run_sync("a", session="one", journal=store)) == ["Hi.", "Hello.", "a", "b"]


def test_n13_a_run_that_waits_for_a_person_is_resumed_first(tmp_path: Path) -> None:
    @tool(risk="confirm")
    def pay() -> str:
        """Pays."""
        return "paid"

    def payer(*steps: Any) -> Agent[None, str]:
        return agent(*steps, tools=[pay], guard=Guard(approve="suspend"), journal=tmp_path / "runs.db")

    left = payer(call("pay")).run_sync("Pay.", session="one")
    with pytest.raises(UsageError, match=left.run_id) as caught:
        payer("no").run_sync("And?", session="one")
    assert caught.value.code == "run_not_ended"
    payer("Paid.").resume_sync(left, {left.pending[0].call_id: True})
    assert words(payer("b").run_sync("a", session="one"))[-3:] == ["Paid.", "a", "b"]


def test_n13_a_deleted_run_is_not_remembered_by_its_session(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    first = agent("Hello.").run_sync("Hi.", session="Zanzibar", journal=store)
    Journal(store).delete(first.run_id)
    Journal(store).close()
    assert b"Zanzibar" not in b"".join(each.read_bytes() for each in tmp_path.iterdir())
    assert words(agent("b").run_sync("a", session="Zanzibar", journal=store)) == ["a", "b"]


def test_n13_a_store_of_an_earlier_version_takes_sessions(tmp_path: Path) -> None:

    store = tmp_path / "runs.db"
    agent("Hello.").run_sync("Hi.", session="one", journal=store)
    Journal(store).close()
    with sqlite3.connect(store) as connection:
        connection.execute("DROP TABLE journal_sessions")

        connection.execute("UPDATE loopwright_rooms SET version = 2 WHERE room = 'journal'")
    connection.close()
    assert words(agent("b").run_sync("a", session="one", journal=store)) == ["a", "b"]
    assert words(agent("d").run_sync("c", session="one", journal=store)) == ["a", "b", "c", "d"]
