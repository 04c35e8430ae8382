"""Requests that a test must not send: refused in one place, whoever makes them, and never to this machine."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from typing import Any

import pytest
from loopwright import Agent, Model, UsageError
from loopwright._real_requests import _is_here, check_host, check_url, forbidden
from loopwright.embeddings import embed, embed_sync
from loopwright.search import Brave
from loopwright.testing import ScriptedModel, WireServer, no_real_requests
from loopwright.web import fetch_page, fetch_page_sync, read_page

HOST = "api.anthropic.com:443"


def agent(**more: Any) -> Agent[Any]:
    return Agent(Model("anthropic:claude-sonnet-4-5", api_key="no-key", **more))


def refused(work: Any) -> UsageError:
    with pytest.raises(UsageError) as raised, no_real_requests():
        work()
    assert raised.value.code == "real_request"
    assert "agent.override(model=ScriptedModel([...]))" in str(raised.value)
    return raised.value


def test_a_run_is_refused_and_the_host_is_named():
    for work in (
        lambda: agent().run_sync("x"),
        lambda: agent().run_sync("x", on_event=lambda _: None),
        lambda: asyncio.run(agent().run("x")),
    ):
        error = refused(work)
        assert HOST in error.message
        assert "anthropic:claude-sonnet-4-5" in error.message


def test_vectors_pages_and_searches_are_refused():
    given: dict[str, Any] = {"api_key": "no-key", "cache": False}
    assert "api.openai.com" in refused(lambda: embed_sync("openai:text-embedding-3-small", ["a"], **given)).message
    refused(lambda: asyncio.run(embed("openai:text-embedding-3-small", ["a"], **given)))
    assert "example.com" in refused(lambda: fetch_page_sync("https://user:pass@example.com/x")).message
    assert "pass" not in refused(lambda: fetch_page_sync("https://user:pass@example.com/x")).message
    refused(lambda: asyncio.run(fetch_page("https://example.com/x")))
    assert "search.brave.com" in refused(lambda: asyncio.run(Brave("no-key").search("x", 1))).message


def test_what_is_swallowed_is_raised_at_the_end_of_the_block():
    def work() -> None:
        with pytest.raises(UsageError):
            agent().run_sync("x")

    refused(work)


def test_an_error_of_the_block_goes_first():
    with pytest.raises(KeyError), no_real_requests():
        with pytest.raises(UsageError):
            agent().run_sync("x")
        raise KeyError


def test_this_machine_may_be_asked():
    with WireServer(["hi", "hi"]) as server, no_real_requests():
        for address in (server.url, server.url.replace("127.0.0.1", "localhost")):
            assert agent(base_url=address).run_sync("x").final == "hi"
        assert Agent(ScriptedModel(["a double"])).run_sync("x").final == "a double"
        made = embed_sync("openai:text-embedding-3-small", ["a"], base_url=server.url, api_key="k", cache=False)
        assert len(made) == 1
        assert read_page("<p>a</p>", url="https://example.com").text == "a"
        assert "offline" in Agent("offline:extractive").run_sync("x").model


@pytest.mark.parametrize(
    ("host", "here"),
    [
        ("127.0.0.1:80", True),
        ("127.8.9.1", True),
        ("[::1]:443", True),
        ("[::ffff:127.0.0.1]:1", True),
        ("localhost:11434", True),
        ("LOCALHOST.", True),
        ("api.localhost:80", True),
        ("10.0.0.1:80", False),
        ("192.168.1.5:11434", False),
        ("0.0.0.0:80", False),
        ("[::2]:80", False),
        ("localhost.example.com:80", False),
        ("127.0.0.1.example.com:80", False),
        ("notlocalhost:1", False),
        ("api.openai.com:443", False),
        ("", False),
    ],
)
def test_what_this_machine_is(host, here):
    assert _is_here(host) is here


def test_blocks_nest_and_hold_for_all_threads():
    assert not forbidden()
    with no_real_requests():
        with no_real_requests():
            pass
        assert forbidden()
        seen: list[bool] = []
        thread = threading.Thread(target=lambda: seen.append(forbidden()))
        thread.start()
        thread.join()
        assert seen == [True]
    assert not forbidden()
    check_host(HOST, "x")
    check_url("https://example.com", "x")


@pytest.mark.parametrize(("said", "refuses"), [("1", True), ("true", True), ("0", False), ("", False), ("no", False)])
def test_the_environment_forbids_too(said, refuses):
    code = (
        "from loopwright import Agent, Model, UsageError\n"
        "try:\n"
        "    Agent(Model('anthropic:x', api_key='k', retry={'attempts': 1})).run_sync('x')\n"
        "except Exception as error:\n"
        "    print(error.code, error)\n"
    )
    # There is no such proxy: where it is not refused, nothing leaves this machine either.
    environment = {**os.environ, "LOOPWRIGHT_NO_REQUESTS": said, "HTTPS_PROXY": "http://127.0.0.1:9"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.startswith("real_request") is refuses, done.stdout
    if refuses:
        assert "LOOPWRIGHT_NO_REQUESTS of the environment forbids that" in done.stdout
