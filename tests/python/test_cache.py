"""Prompt caches: what requests look like to them, a simulator of their rules, and what a result tells of them."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from loopwright import Agent, Budget, ContextPolicy, Memory, Model, Monitor, SubAgent, UsageError, tool
from loopwright.models import Call
from loopwright.testing import CacheRules, PromptCache, WireServer, call, calls, recorded, text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MODELS = {
    "anthropic": ("anthropic:claude-sonnet-4-5", "anthropic"),
    "chat": ("openai-chat:gpt-4o", "openai"),
    "responses": ("openai-responses:gpt-4o", "openai"),
    "gemini": ("gemini:gemini-2.5-flash", "gemini"),
    "bedrock": ("bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0", "bedrock"),
}
SYSTEM = "You read logs and say what is odd. " * 60


@tool
def read_page(number: int) -> str:
    """Reads a page of the log."""
    return "\n".join(
        f"{number}.{i} request {i * number % 997} took {i * 7 % 113} ms at host h{i % 5}" for i in range(30)
    )


def script(turns: int, *, wide: int = 0) -> list[Any]:
    """Pages are read one by one; two sub-agents are started, and every so many rounds fourteen pages come at once."""
    found: list[Any] = []
    for turn in range(turns):
        if turn in (turns // 5, turns * 3 // 5):
            found.append(call("spawn", agent="one" if turn < turns // 2 else "two", task="look at host h1"))
            found += [call("read_page", number=900 + turn + page) for page in range(5)]
            found.append(text("nothing odd"))
        elif wide and turn % wide == wide - 1:
            found.append(calls(*[Call("read_page", {"number": 1000 + turn * 20 + page}) for page in range(14)]))
        else:
            found.append(call("read_page", number=turn))
    return [*found, text("done")]


def agent(model: str, url: str, turns: int, **options: Any) -> Agent[Any, str]:
    sub = [SubAgent(name, "Looks at one host.", tools=[read_page], instructions=SYSTEM) for name in ("one", "two")]
    return Agent(
        Model(model, base_url=url, api_key="k"),
        tools=[read_page],
        instructions=SYSTEM,
        agents=sub,
        budget=Budget(rounds=turns + 50, tool_rounds=turns + 50, wall_time=600),
        monitor=Monitor(stuck=None, momentum=None),
        **options,
    )


@pytest.mark.parametrize(
    "context", [ContextPolicy(budget=80_000), ContextPolicy(budget=60_000, low=0.4)], ids=["80,000", "60,000"]
)
@pytest.mark.parametrize("wire", MODELS)
def test_over_two_hundred_turns_the_prompts_lie_in_the_cache(wire: str, context: ContextPolicy):
    """With compactions (which bring the tool `recall`), recalled memories and two sub-agents. A compaction of a small
    window that leaves more room comes less often.
    """
    model, provider = MODELS[wire]
    memory = Memory()
    memory.remember("Host h3 was replaced last week.")
    with WireServer(script(200)) as server:
        result = agent(model, server.url, 200, context=context, memory=memory).run_sync("Read about host h3.")
        assert result.stop_reason == "natural"
        cache = PromptCache(provider)
        uses = [cache.see(request["body"]) for request in server.requests]
    assert len(uses) == 213
    print(f"{wire}, a budget of {context.budget}: {cache.share:.1%} of the prompts lie in the cache")
    assert sum(use.why == "changed" and use.prompt > 20_000 for use in uses) > 0, "no compaction"
    assert cache.share >= 0.97, [use for use in uses if use.why != "new"]


@pytest.mark.parametrize("wire", ["anthropic", "bedrock"])
def test_a_round_of_many_calls_lies_no_less_in_the_cache(wire: str):
    """From a breakpoint, twenty blocks are searched for what was kept; a round of fourteen calls is longer."""
    model, provider = MODELS[wire]
    with WireServer(script(60, wide=5)) as server:
        assert agent(model, server.url, 60).run_sync("Read.").stop_reason == "natural"
        cache = PromptCache(provider)
        uses = [cache.see(request["body"]) for request in server.requests]
    assert {use.why for use in uses if use.prompt > 5000} == {"new"}


def test_the_beginning_of_a_prompt_stays_the_same_byte_for_byte():
    with WireServer(script(30)) as server:
        assert agent("openai-chat:gpt-4o", server.url, 30).run_sync("Read.").stop_reason == "natural"
        own = [request["body"] for request in server.requests if "spawn" in json.dumps(request["body"]["tools"])]
    written = [json.dumps(body["messages"])[:-1] for body in own]
    assert len(own) == 31
    assert all(later.startswith(earlier) for earlier, later in pairwise(written))
    assert len({json.dumps(body["tools"]) for body in own}) == 1


@contextmanager
def provider() -> Iterator[tuple[str, PromptCache]]:
    """Anthropic's wire, with the numbers that its cache would give."""
    cache, lock = PromptCache("anthropic"), threading.Lock()
    replies = iter(range(60))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            with lock:
                use, turn = cache.see(body), next(replies)
            block: dict[str, Any] = {"type": "text", "text": "done"}
            if turn < 40:
                block = {"type": "tool_use", "id": f"c{turn}", "name": "read_page", "input": {"number": turn}}
            usage = {
                "input_tokens": use.prompt - use.hit - use.written,
                "cache_read_input_tokens": use.hit,
                "cache_creation_input_tokens": use.written,
                "output_tokens": 9,
            }
            answer = {
                "id": f"m{turn}",
                "type": "message",
                "role": "assistant",
                "model": body["model"],
                "content": [block],
                "stop_reason": "tool_use" if turn < 40 else "end_turn",
                "usage": usage,
            }
            written = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(written)))
            self.end_headers()
            self.wfile.write(written)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", cache
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_result_tells_what_the_cache_gave_and_what_broke_it(tmp_path: Path):
    with provider() as (url, cache):
        options: dict[str, Any] = {"context": ContextPolicy(budget=20_000), "journal": tmp_path}
        result = agent("anthropic:claude-sonnet-4-5", url, 60, **options).run_sync("Read.")
    told = result.cache
    assert result.stop_reason == "natural"
    assert [(entry.input_tokens, entry.hit_tokens) for entry in told] == [(use.prompt, use.hit) for use in cache.uses]
    assert told[0].why == "first"
    broken = [entry for entry in told if entry.why == "compacted"]
    assert broken
    assert broken[0].changed == "tools[2]", "the first compaction brings the tool `recall`"
    assert {entry.changed.partition("[")[0] for entry in broken[1:] if entry.changed} <= {"messages"}
    for entry in told:
        # Three dollars for a million tokens, and thirty cents from the cache.
        assert entry.cost == pytest.approx(entry.again_tokens * 2.7 / 1e6)
    assert all(entry.again_tokens == 0 for entry in told if entry.why in ("first", "new"))
    assert all(entry.byte and entry.again_tokens > 1000 for entry in broken)
    assert sum(entry.why == "new" for entry in told) > 30


def test_without_a_journal_nothing_is_known_of_the_prompts():
    with provider() as (url, _):
        result = agent("anthropic:claude-sonnet-4-5", url, 60).run_sync("Read.")
    with pytest.raises(UsageError) as caught:
        _ = result.cache
    assert caught.value.code == "no_journal"


def body(*texts: str, marks: int = 1, ttl: str | None = None) -> dict[str, Any]:
    mark = {"type": "ephemeral", **({"ttl": ttl} if ttl else {})}
    blocks = [{"type": "text", "text": each} for each in texts]
    for block in blocks[-marks:] if marks else []:
        block["cache_control"] = mark  # type: ignore[assignment]
    return {"model": "m", "messages": [{"role": "user", "content": blocks}]}


LONG = "word " * 1500


def test_the_simulator_follows_the_rules_of_marks():
    cache = PromptCache("anthropic")
    assert (cache.see(body(LONG)).why, cache.see(body("short")).why) == ("first", "changed")
    hit = cache.see(body(LONG, "more", "and more"), at=299)
    assert (hit.hit, hit.why) == (cache.uses[0].prompt, "new")
    assert cache.see(body(LONG, "more", "and more"), at=598).hit == hit.prompt, "a hit keeps it for another while"
    assert cache.see(body(LONG, "more", "and more"), at=899).why == "expired"
    assert cache.see(body(LONG, "other"), at=900).changed_at == "messages[0].content[1]"
    far = [f"block {number}" for number in range(25)]
    assert cache.see(body(LONG, *far), at=901).hit == 0, "more than twenty blocks behind what is kept"
    cache = PromptCache("anthropic")
    cache.see(body(LONG, ttl="1h"))
    assert cache.see(body(LONG), at=3000).hit == cache.uses[0].prompt
    with pytest.raises(UsageError) as caught:
        cache.see(body(*"abcde", marks=5))
    assert caught.value.code == "too_many_breakpoints"


def test_the_simulator_reads_the_marks_of_bedrock():
    cache, point = PromptCache("bedrock"), {"cachePoint": {"type": "default"}}

    def asked(*texts: str, at: int) -> dict[str, Any]:
        content: list[Any] = [{"text": each} for each in texts]
        return {
            "system": [{"text": LONG}, point],
            "messages": [{"role": "user", "content": [*content[:at], point, *content[at:]]}],
        }

    assert cache.see(asked("a", at=1)).why == "first"
    hit = cache.see(asked("a", "b", "c", at=2))
    assert (hit.hit, hit.why) == (cache.uses[0].prompt, "new"), "a mark is no part of the prompt"
    assert cache.see(asked("other", at=1)).changed_at == "messages[0].content[0]"
    assert 1024 < cache.uses[-1].hit < hit.hit, "the instructions have a mark of their own"
    with pytest.raises(UsageError) as caught:
        cache.see(
            {"messages": [{"role": "user", "content": [part for at in "abcde" for part in ({"text": at}, point)]}]}
        )
    assert caught.value.code == "too_many_breakpoints"


def test_the_simulator_follows_the_rules_of_caches_without_marks():
    cache = PromptCache("openai")
    cache.see(body(LONG, marks=0))
    hit = cache.see(body(LONG, "more", marks=0))
    assert hit.hit == cache.uses[0].prompt // 128 * 128
    assert cache.see(body("word " * 900, marks=0)).hit == 0
    assert cache.see(body("word " * 900, "x", marks=0)).why == "small"
    tiny = PromptCache("mine", rules=CacheRules(0, 0, 8, 8, 60, "a test"))
    tiny.see(body("word " * 20, marks=0))
    assert tiny.see(body("word " * 20, "x", marks=0)).hit >= 16
    with pytest.raises(UsageError) as caught:
        PromptCache("nobody")
    assert caught.value.code == "unknown_provider"


@pytest.mark.parametrize("lasts", [True, "1h"])
def test_what_is_marked_for_an_hour_is_kept_for_one_and_costs_twice_the_input(lasts: Any) -> None:
    kept = {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 1200}
    usage = {
        "input_tokens": 7,
        "output_tokens": 10,
        "cache_creation_input_tokens": 1200,
        "cache_read_input_tokens": 100,
    }
    head = {"type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "stop_sequence": None}
    asks = {"type": "tool_use", "id": "toolu_1", "name": "read_page", "input": {"number": 1}}
    answers = [
        {"id": "msg_1", "content": [asks], "stop_reason": "tool_use"},
        {"id": "msg_2", "content": [{"type": "text", "text": "Done."}], "stop_reason": "end_turn"},
    ]
    usages = {**usage, "cache_creation": kept} if lasts == "1h" else usage
    replies = [recorded(200, "application/json", {**head, **answer, "usage": usages}) for answer in answers]
    with WireServer(replies) as server:
        model = Model("anthropic:claude-sonnet-4-5", base_url=server.url, api_key="k", settings={"cache": lasts})
        result = Agent(model, instructions=SYSTEM * 3, tools=[read_page]).run_sync("Read the log.")
        bodies = [request["body"] for request in server.requests]
    assert (result.usage.cache_write_tokens, result.usage.cache_read_tokens) == (2400, 200)
    assert result.usage.cache_write_hour_tokens == (2400 if lasts == "1h" else 0)
    paid = 14 + 200 * 0.1 + 2400 * (2.0 if lasts == "1h" else 1.25)
    assert result.cost == pytest.approx((paid * 3 + 20 * 15) / 1e6)
    cache = PromptCache("anthropic")
    later = [cache.see(body, at=600.0 * at).hit for at, body in enumerate(bodies)][1]
    assert (later > 0) is (lasts == "1h"), "ten minutes later"


def test_a_profile_says_how_many_marks_a_host_takes_and_none_is_none():
    arn = "arn:aws:bedrock:eu-west-1:123456789012:"
    application = f"bedrock:{arn}application-inference-profile/a1b2c3d4e5f6"
    for model, marks, found in [
        ("anthropic:claude-sonnet-4-5", None, 3),
        ("anthropic:claude-sonnet-4-5", 1, 1),
        ("anthropic:claude-sonnet-4-5", 0, 0),
        (f"bedrock:{arn}inference-profile/eu.anthropic.claude-sonnet-4-5-20250929-v1:0", None, 2),
        (f"bedrock:{arn}foundation-model/anthropic.claude-haiku-4-5-20251001-v1:0", None, 2),
        (f"bedrock:{arn}foundation-model/anthropic.claude-haiku-4-5-20251001-v1:0", 0, 0),
        (application, None, 0),
        (application, 4, 2),
    ]:
        profile = None if marks is None else {"body": {"cache_marks": marks}}
        with WireServer([text("Fine.")]) as server:
            Agent(
                Model(model, base_url=server.url, api_key="k", profile=profile), tools=[read_page], instructions="Read."
            ).run_sync("Is it?")
            body = json.dumps(server.requests[0]["body"])
        assert body.count('"cache_control"') + body.count('"cachePoint"') == found, (model, marks)


def test_a_time_that_no_cache_offers_is_refused_by_name() -> None:
    wrong: Any = {"cache": "2h"}
    with pytest.raises(UsageError, match="cache.*True, False or '1h'"):
        Model("anthropic:claude-sonnet-4-5", settings=wrong)
