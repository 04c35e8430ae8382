"""The verifier against the wire server: searches of the provider, paused turns, limits, logs, scores."""

from __future__ import annotations

import asyncio
import doctest
import json
import time
from pathlib import Path

import loopwright.presets._verifier as room
import pytest
from loopwright import LoopwrightError, Model, UsageError
from loopwright.events import RoundFinished, TextDelta
from loopwright.models import Call
from loopwright.presets import Scores, SearchStatus, Verification, complexity_of, parse_scores, verifier
from loopwright.testing import ScriptedModel, WireServer, call, calls, fault, recorded, response, text

KEY = "sk-test-0123456789"
SCORED = 'It holds.\n```json\n{"evidence": 80, "epistemology": 70, "sources": 60, "logic": 90, "verdict": "true"}\n```'
RECORDED = Path(__file__).parents[3].parent / "shared/data/recorded/anthropic/test_anthropic_web_search_tool.json"


def searching(
    query: str = "oslo", number: int = 1, *, words: str = "", stop: str = "end_turn", error: str | None = None
):
    """An answer in which the provider has searched, in the shape that Anthropic's have."""
    found = [
        {
            "type": "web_search_result",
            "url": f"https://example.org/{query}",
            "title": query.title(),
            "page_age": "2 days ago",
            "encrypted_content": "EroTCioIBxgC" * 5,
        }
    ]
    failed = {"type": "web_search_tool_result_error", "error_code": error}
    raws = [
        {"type": "server_tool_use", "id": f"srvtoolu_{number}", "name": "web_search", "input": {"query": query}},
        {"type": "web_search_tool_result", "tool_use_id": f"srvtoolu_{number}", "content": failed if error else found},
    ]
    content = [{"type": "provider", "wire": "anthropic", "raw": raw} for raw in raws]
    content += [{"type": "text", "text": words}] if words else []
    return response(
        {
            "id": "",
            "model": "",
            "message": {"role": "assistant", "content": content},
            "stop": stop,
            "usage": {"input": 5, "output": 5, "provider_tool_uses": 1},
        }
    )


def at(server: WireServer, retry=None, **options):
    return verifier(Model("anthropic:m", base_url=server.url, api_key=KEY, retry=retry), **options)


@pytest.fixture(params=["run", "run_sync", "stream"])
def check(request):
    """Checks a claim in one of three ways; gives the verification and the events."""

    def go(made, claim="Oslo is the capital of Norway.", **options) -> tuple[Verification, list]:
        events: list = []
        if request.param == "run_sync":
            return made.run_sync(claim, on_event=events.append, **options), events
        if request.param == "run":
            return asyncio.run(made.run(claim, on_event=events.append, **options)), events

        async def main() -> None:
            events.extend([event async for event in made.stream(claim, **options)])

        asyncio.run(main())
        return events.pop(), events

    return go


def test_the_examples_hold():
    assert doctest.testmod(room).failed == 0


def test_a02_a03_a07_paused_turns_go_on_with_all_blocks_as_they_came(check):
    replies = [
        searching("oslo", 1, words="First. ", stop="pause_turn"),
        searching("norway", 2, words="Second. ", stop="pause_turn"),
        text(SCORED),
    ]
    with WireServer(replies) as server:
        verification, _ = check(at(server))
        bodies = [request["body"] for request in server.requests]
    assert len(bodies) == 3
    assert bodies[0]["tools"][0]["type"] == "web_search_20250305"
    assert bodies[0]["max_tokens"] == 16_000
    # What the provider wrote goes back to it as it was, encrypted content and all.
    sent = [
        block for message in bodies[2]["messages"] if message["role"] == "assistant" for block in message["content"]
    ]
    kinds = [block["type"] for block in sent]
    assert kinds.count("server_tool_use") == kinds.count("web_search_tool_result") == 2
    results = [block for block in sent if block["type"] == "web_search_tool_result"]
    assert results[0]["content"][0]["encrypted_content"] == "EroTCioIBxgC" * 5
    for part in ("First.", "Second.", "It holds."):
        assert verification.text.count(part) == 1
    assert verification.result.rounds == 3


def test_a11_a12_a13_searches_are_logged_with_query_time_and_results(check):
    began = time.time()
    with WireServer([searching("oslo", 1, stop="pause_turn"), searching("norway", 2, words=SCORED)]) as server:
        verification, events = check(at(server))
    assert [(one.query, one.round) for one in verification.searches] == [("oslo", 1), ("norway", 2)]
    for one in verification.searches:
        assert began - 1 <= one.at <= time.time()
        assert [(hit.url, hit.published) for hit in one.hits] == [(f"https://example.org/{one.query}", "2 days ago")]
        assert one.error is None
    assert [hit.url for hit in verification.sources] == ["https://example.org/oslo", "https://example.org/norway"]
    assert verification.result.searches == 2
    assert len(verification.result.iterations) == 2
    assert len([event for event in events if isinstance(event, RoundFinished)]) == 2


def test_a11_the_log_is_there_without_anybody_watching():
    with WireServer([searching("oslo", 1, stop="pause_turn"), searching("norway", 2, words=SCORED)]) as server:
        verification = at(server).run_sync("Oslo is the capital of Norway.")
    assert [(one.query, one.round, len(one.hits)) for one in verification.searches] == [
        ("oslo", 1, 1),
        ("norway", 2, 1),
    ]


def test_a15_a16_a17_text_streams_and_searches_tell_that_they_begin_and_end(check):
    with WireServer([searching("oslo", 1, words=SCORED)]) as server:
        verification, events = check(at(server))
    status = [(event.state, event.query, event.count) for event in events if isinstance(event, SearchStatus)]
    assert status == [("started", "oslo", 0), ("finished", "oslo", 1)]
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == SCORED
    started = next(at for at, event in enumerate(events) if isinstance(event, SearchStatus))
    written = next(at for at, event in enumerate(events) if isinstance(event, TextDelta))
    assert started < written
    assert verification.searched


def test_a17_our_own_searches_tell_what_they_ask(check):
    def find(query):
        return [{"url": "https://example.org/a", "title": "A", "snippet": f"about {query}"}]

    with WireServer([call("web_search", query="oslo"), text(SCORED)]) as server:
        verification, events = check(at(server, search=find))
        body = server.requests[0]["body"]
    assert [tool["name"] for tool in body["tools"]] == ["web_search"]
    assert "type" not in body["tools"][0] or body["tools"][0]["type"] == "custom"
    status = [(event.state, event.query) for event in events if isinstance(event, SearchStatus)]
    assert status == [("started", "oslo"), ("finished", "oslo")]
    [search] = verification.searches
    assert (search.query, search.round, search.hits[0].snippet) == ("oslo", 1, "about oslo")
    assert search.duration is not None


@pytest.mark.parametrize(
    ("complexity", "limit"), [("simple", 3), ("moderate", 5), ("complex", 10), ("breaking", 15), ("single", 1)]
)
def test_a06_a14_the_limit_of_requests_follows_the_complexity(complexity, limit):
    replies = [searching(f"q{number}", number, words=f"Part {number}. ", stop="pause_turn") for number in range(20)]
    with WireServer(replies) as server:
        verification = at(server).run_sync("Oslo.", complexity=complexity)
        assert len(server.requests) == limit
    # Whatever there is comes, with a warning.
    assert verification.partial
    assert verification.complexity == complexity
    assert verification.text.count("Part") == limit
    assert len(verification.searches) == limit
    assert any("partial" in warning for warning in verification.warnings)


@pytest.mark.parametrize(
    ("claim", "complexity"),
    [
        ("Oslo is the capital of Norway.", "simple"),
        ("Coffee causes cancer.", "moderate"),
        (
            "Studies show that most people who drink more than two cups of coffee always live longer on average.",
            "complex",
        ),
        ("The minister resigned two hours ago.", "breaking"),
        ("word " * 61, "complex"),
    ],
)
def test_a14_the_complexity_is_judged_by_the_words(claim, complexity):
    assert complexity_of(claim) == complexity
    with WireServer([text(SCORED)]) as server:
        assert at(server).run_sync(claim).complexity == complexity


def test_a09_a10_a_single_request_and_the_loop_differ_by_one_option(check):
    replies = [searching("oslo", 1, words=SCORED, stop="pause_turn"), text("more")]
    with WireServer(replies) as server:
        verification, _ = check(at(server, single_turn=True))
        assert len(server.requests) == 1
    assert verification.scores.overall == 74.0
    with WireServer(replies) as server:
        verification, _ = check(at(server))
        assert len(server.requests) == 2


def test_a18_a_search_that_stalls_ends_at_the_time_limit():
    with WireServer([searching("oslo").after(5), text(SCORED).after(5)]) as server:
        with pytest.raises(LoopwrightError) as caught:
            at(server, timeout=0.3, retry={"attempts": 1}).run_sync("Oslo.")
    assert caught.value.code == "timeout"


def test_a18_a19_a21_searches_that_stall_are_done_without_and_then_left_alone(check):
    replies = []
    for number in range(3):
        replies += [searching("oslo", number).after(5), text(SCORED)]
    with WireServer([*replies, text(SCORED)]) as server:
        made = at(server, timeout=0.3, retry={"attempts": 1})
        for _ in range(3):
            verification, _ = check(made)
            assert not verification.searched
            assert "did not come to an end" in verification.why_not
            assert verification.scores.overall == 74.0
        # Three in a row: the search is not tried at all.
        verification, _ = check(made)
        assert "left alone" in verification.why_not
        assert [bool(request["body"].get("tools")) for request in server.requests] == [True, False] * 3 + [False]


def test_a21_what_was_found_before_the_search_stalled_is_kept(check):
    replies = [searching("oslo", 1, words="First. ", stop="pause_turn"), searching("b").after(5), text(SCORED)]
    with WireServer(replies) as server:
        verification, _ = check(at(server, timeout=0.3, retry={"attempts": 1}))
    assert verification.text.startswith("First. ")
    assert verification.scores.overall == 74.0
    assert [one.query for one in verification.searches] == ["oslo"]
    assert not verification.searched


@pytest.mark.parametrize(
    ("status", "message"),
    [(400, "web_search is not enabled"), (403, "Web search is not allowed for your organization")],
)
def test_a21_a_search_that_is_refused_in_the_middle_is_done_without(check, status, message):
    replies = [
        searching("oslo", 1, words="First. ", stop="pause_turn"),
        fault.status(status, message=message),
        text(SCORED),
    ]
    with WireServer(replies) as server:
        verification, _ = check(at(server))
    assert (verification.searched, verification.scores.overall) == (False, 74.0)


def test_a17_a_search_that_fails_says_so_and_does_not_finish(check):
    def broken(query):
        raise OSError("no network")

    with WireServer([searching("oslo", 1, words=SCORED, error="unavailable")]) as server:
        _, events = check(at(server))
    told = [(event.state, event.query) for event in events if isinstance(event, SearchStatus)]
    assert told == [("started", "oslo"), ("failed", "oslo")]
    with WireServer([call("web_search", query="oslo"), text(SCORED)]) as server:
        verification, events = check(at(server, search=broken))
    told = [(event.state, event.query) for event in events if isinstance(event, SearchStatus)]
    assert told == [("started", "oslo"), ("failed", "oslo")]
    # All our own searches failed: the model could not search either.
    assert not verification.searched
    assert "every search failed" in verification.why_not
    assert verification.why_not in verification.warnings


def test_a19_searches_that_fail_again_and_again_are_left_alone_for_a_while():
    failing = [searching(f"q{number}", number, words=SCORED, error="unavailable") for number in range(3)]
    with WireServer([*failing, text(SCORED), searching("back", 9, words=SCORED), text(SCORED)]) as server:
        check = at(server, cooldown=0.3)
        for _ in range(3):
            verification = check.run_sync("Oslo.")
            assert not verification.searched
            assert "unavailable" in verification.why_not
            assert verification.searches[0].error == "unavailable"
        verification = check.run_sync("Oslo.")
        assert not verification.searched
        assert "left alone" in verification.why_not
        assert verification.why_not in verification.warnings
        assert verification.scores.overall == 74.0
        assert not server.requests[3]["body"].get("tools")
        time.sleep(0.4)
        assert check.run_sync("Oslo.").searched
        assert server.requests[4]["body"]["tools"]
        assert check.run_sync("Oslo.").searched


def without_tools(request) -> bool:
    """Whether the model could call nothing: the wire wants the tools of a conversation with calls to stay."""
    body = request["body"]
    return not body.get("tools") or body.get("tool_choice") == {"type": "none"}


UNSURE = SCORED.replace('"true"', '"unverifiable"')


@pytest.mark.parametrize("complexity", ["moderate", "complex", "breaking"])
@pytest.mark.parametrize("dead", ["raises", "hangs", "provider", "at once"])
def test_a19_a21_a_dead_search_is_left_alone_within_the_claim_and_a_verdict_comes(check, complexity, dead):
    from loopwright.search import as_search

    def broken(query):
        raise OSError(f"no network for {query}")

    async def hangs(query):
        await asyncio.sleep(60)

    options = {"search": broken}
    asks = [call("web_search", query=f"oslo {number}") for number in range(3)]
    if dead == "hangs":
        options["search"] = as_search(hangs)
        options["search"].timeout = 0.05
    if dead == "provider":
        options = {}
        asks = [searching(f"q{number}", number, stop="pause_turn", error="unavailable") for number in range(3)]
    if dead == "at once":
        asks = [calls(*(Call("web_search", {"query": f"oslo {number}"}, f"c{number}") for number in range(3)))]
    with WireServer([*asks, text(UNSURE)]) as server:
        verification, events = check(at(server, **options), complexity=complexity)
        requests = server.requests
    assert [without_tools(request) for request in requests] == [False] * len(asks) + [True]
    assert "does not work now" in str(requests[-1]["body"]["messages"][-1])
    assert verification.result.stop_reason == "natural"
    assert (verification.verdict, verification.partial, verification.searched) == ("unverifiable", False, False)
    assert verification.why_not in verification.warnings
    assert [event.state for event in events if isinstance(event, SearchStatus)].count("failed") == 3
    assert len(verification.searches) == 3
    assert all(one.error for one in verification.searches)


def test_a19_a21_the_last_request_goes_without_a_search_that_failed_before_it(check):
    failing = [searching(f"q{number}", number, stop="pause_turn", error="unavailable") for number in range(2)]
    with WireServer([*failing, text(UNSURE)]) as server:
        verification, _ = check(at(server), complexity="simple")
        assert [without_tools(request) for request in server.requests] == [False, False, True]
    assert (verification.result.stop_reason, verification.verdict) == ("natural", "unverifiable")


def test_a19_a_search_that_comes_back_is_not_left_alone(check):
    errors = ["unavailable", "unavailable", None, "unavailable", "max_uses_exceeded", "max_uses_exceeded"]
    paused = [searching(f"q{number}", number, stop="pause_turn", error=error) for number, error in enumerate(errors, 1)]
    with WireServer([*paused, text(SCORED)]) as server:
        verification, _ = check(at(server), complexity="complex")
        assert not any(without_tools(request) for request in server.requests)
    assert verification.verdict == "true"


def test_a21_where_no_answer_comes_the_verdict_says_so():
    with WireServer([searching(f"q{n}", n, stop="pause_turn", error="unavailable") for n in range(3)]) as server:
        verification = at(server).run_sync("Oslo.", complexity="simple")
    assert (verification.partial, verification.verdict) == (True, "unverifiable")


def test_a19_a_limit_that_was_set_is_no_failure():
    replies = [searching("q", 1, words=SCORED, error="max_uses_exceeded") for _ in range(5)]
    with WireServer(replies) as server:
        check = at(server)
        for _ in range(5):
            check.run_sync("Oslo.")
        assert all(request["body"]["tools"] for request in server.requests)


def test_a21_without_the_search_it_still_answers_and_says_so(check):
    with WireServer([fault.status(400, message="web_search tools are not enabled"), text(SCORED)]) as server:
        verification, _ = check(at(server))
        assert server.requests[0]["body"]["tools"]
        assert not server.requests[1]["body"].get("tools")
    assert not verification.searched
    assert "without" in verification.why_not
    assert verification.scores.overall == 74.0
    assert any("without" in warning for warning in verification.warnings)


def test_a20_the_prompt_and_the_scores_are_text_in_and_text_out(check):
    with WireServer([text(SCORED)]) as server:
        verification, _ = check(at(server, prompt="Assess: {claim}"), "Water is {wet}.")
        (block,) = server.requests[0]["body"]["messages"][0]["content"]
        assert block["text"] == "Assess: Water is {wet}."
    assert verification.findings["verdict"] == "true"
    assert verification.scores == Scores(80.0, 70.0, 60.0, 90.0)
    with WireServer([text(SCORED)]) as server:
        at(server, prompt=lambda claim: claim.upper()).run_sync("water")
        assert "WATER" in json.dumps(server.requests[0]["body"]["messages"])


@pytest.mark.parametrize(
    ("answer", "scores"),
    [
        (SCORED, (80, 70, 60, 90)),
        ('{"evidence": 80, "epistemology": 70, "sources": 60, "logic": 90}', (80, 70, 60, 90)),
        ('So: {"evidence": 80, "epistemology": 70, "sources": 60, "logic": 90}. Done.', (80, 70, 60, 90)),
        ('```json\n{"a": 1}\n```\nand\n```\n{"evidence": 1, "logic": 2}\n```', (1, None, None, 2)),
        ('{"scores": {"evidence": {"score": 80}, "logic_score": "90%"}}', (80, None, None, 90)),
        ('{"Evidence": "8/10", "Sources": 101, "Logic": true, "epistemology": -1}', (80, None, None, None)),
        ("- **Evidence**: 80/100\n- *Logic* (10 %): 9/10\nSources = 60", (80, None, 60, 90)),
        ("Evidence score: 50\nlater Evidence: 70", (70, None, None, None)),
        ("no scores at all", (None, None, None, None)),
        ("", (None, None, None, None)),
        ("```json\n{broken\n```", (None, None, None, None)),
        ("[1, 2]", (None, None, None, None)),
    ],
)
def test_a20_scores_are_found_in_fences_in_the_whole_and_in_lines(answer, scores):
    found, _ = parse_scores(answer)
    assert (found.evidence, found.epistemology, found.sources, found.logic) == scores


def test_a20_weights_are_those_of_the_original():
    assert Scores(100, 0, 0, 0).overall == 40
    assert Scores(0, 100, 0, 0).overall == 30
    assert Scores(0, 0, 100, 0).overall == 20
    assert Scores(0, 0, 0, 100).overall == 10
    assert Scores(1, 2, 3).overall is None


@pytest.mark.parametrize("answer", ["```json\n" * 5_000, "{" * 100_000, "evidence" * 50_000, "Evidence: " * 50_000])
def test_a20_hostile_answers_take_no_time(answer):
    # Quadratic time would be minutes.
    parse_scores(answer)


def test_an_answer_without_scores_says_so():
    with WireServer([text("It holds, I think.")]) as server:
        verification = at(server).run_sync("Oslo.")
    assert verification.scores == Scores()
    assert any("no score for evidence" in warning for warning in verification.warnings)


def test_a_recorded_conversation_is_read_whole():
    if not RECORDED.exists():
        pytest.skip("no recordings here")
    first = json.loads(RECORDED.read_text())[0]["response"]
    with WireServer([recorded(200, "application/json", first)]) as server:
        verification = at(server).run_sync("The weather in San Francisco is fine today.")
    [search] = verification.searches
    assert search.query == "San Francisco weather today"
    assert len(search.hits) == 10 or len(search.hits) == 8
    assert any("Winds W" in hit.snippet for hit in verification.sources)
    assert verification.complexity == "breaking"


def test_a_cancelled_check_leaves_the_verifier_as_it_was():
    async def main():
        with WireServer([searching("oslo").after(5), searching("oslo", 1, words=SCORED)]) as server:
            check = at(server)
            task = asyncio.create_task(check.run("Oslo."))
            await asyncio.sleep(0.2)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return (await check.run("Oslo.")).searched

    assert asyncio.run(main())


@pytest.mark.parametrize(
    "options",
    [{"complexity": "hard"}, {"prompt": "no place"}, {"timeout": 0}, {"search": 7}, {"threshold": "x"}],
)
def test_nonsense_is_a_usage_error(options):
    with pytest.raises((UsageError, TypeError)):
        verifier(Model("anthropic:m", api_key=KEY), **options)


@pytest.mark.parametrize("claim", ["", "  ", None])
def test_no_claim_is_a_usage_error(claim):
    with pytest.raises(UsageError):
        verifier(Model("anthropic:m", api_key=KEY)).run_sync(claim)


def test_a11_searches_of_ours_know_their_round_and_their_claim():
    from loopwright.models import Call, Response
    from loopwright.search import as_search

    ours = as_search(lambda query: [{"url": f"https://example.org/{query}", "title": query}])

    class Model:
        name = "searching"

        def respond(self, request):
            said = str(request.to_json())
            word = "oslo" if "Oslo" in said else "bergen"
            rounds = said.count('"tool_result"')
            return SCORED if rounds > 1 else Response(calls=[Call("web_search", {"query": f"{word} {rounds}"})])

    made = verifier(Model(), search=ours)

    async def both():
        return await asyncio.gather(made.run("Oslo is a capital."), made.run("Bergen is a town."))

    for check, word in zip(asyncio.run(both()), ("oslo", "bergen"), strict=True):
        assert [(each.query, each.round) for each in check.searches] == [(f"{word} 0", 1), (f"{word} 1", 2)]
        assert [each.hits[0].title for each in check.searches] == [f"{word} 0", f"{word} 1"]


def test_a11_searches_of_a_conversation_before_are_not_this_claims():
    with WireServer([searching("oslo", words=SCORED), text(SCORED)]) as server:
        made = at(server)
        first = made.run_sync("Oslo is the capital.")
        assert [each.query for each in first.searches] == ["oslo"]
        second = made.run_sync("It lies by a fjord.", messages=first.result.messages)
    assert second.searches == []


def test_a21_the_offline_model_says_that_it_can_not_search():
    check = verifier("offline:extractive").run_sync("Oslo is the capital.")
    assert not check.searched
    assert "offline" in check.why_not
    assert check.why_not in check.warnings


@pytest.mark.parametrize("prompt", ['Give {"a": 1} for {claim}', "{claim} {0}", "{claim} {", lambda claim: None])
def test_a20_prompts_that_can_not_be_filled_in_are_usage_errors(prompt):
    with pytest.raises(UsageError):
        verifier(ScriptedModel([]), prompt=prompt).run_sync("Oslo is the capital.")


def test_a21_a_host_without_a_search_of_its_own_is_told():
    with WireServer(["It is."]) as server:
        done = verifier(Model("mistral:m", base_url=server.url, api_key=KEY)).run_sync("Oslo is the capital of Norway.")
    assert not done.searched
    assert "no web search of its own" in done.why_not
