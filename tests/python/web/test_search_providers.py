"""Search providers over real sockets, in the formats of their services, and searches of other kinds."""

from __future__ import annotations

import asyncio
import doctest
import json
import logging
import pickle
import time
from email.utils import formatdate

import loopwright.search._base
import loopwright.search._hit
import loopwright.search._local
import pytest
from loopwright import Agent, LoopwrightError
from loopwright.search import Brave, Hit, LocalCorpus, ProviderSearch, SearXNG, Tavily, as_search
from loopwright.search._provider import searches_of
from loopwright.testing import ScriptedModel, WireServer, call, recorded, response, text

KEY = "BSA-0123456789-secret"

# As docs.searxng.org, api-dashboard.search.brave.com and docs.tavily.com show them.
SEARXNG = {
    "query": "wings",
    "number_of_results": 0,
    "results": [
        {
            "url": "https://example.org/a",
            "title": "Wings &amp; lift",
            "content": "How <b>wings</b> lift.",
            "publishedDate": "2024-05-01T00:00:00",
            "engine": "brave",
            "score": 1.0,
            "category": "general",
        },
        {"url": "https://example.org/a", "title": "Again", "content": ""},
        {"url": "javascript:alert(1)", "title": "No", "content": ""},
        {"url": "https://example.org/b", "title": "", "content": None},
    ],
    "answers": [],
    "corrections": [],
    "infoboxes": [],
    "suggestions": [],
    "unresponsive_engines": [],
}
BRAVE = {
    "type": "search",
    "query": {"original": "wings", "more_results_available": True},
    "web": {
        "type": "search",
        "results": [
            {
                "title": "Wings",
                "url": "https://example.org/a",
                "description": "How <strong>wings</strong> lift.",
                "page_age": "2024-05-01T00:00:00",
                "age": "May 1, 2024",
                "extra_snippets": ["Swept wings too."],
            }
        ],
    },
}
TAVILY = {
    "query": "wings",
    "answer": None,
    "images": [],
    "results": [
        {
            "title": "Wings",
            "url": "https://example.org/a",
            "content": "How wings lift.",
            "score": 0.81,
            "raw_content": "# Wings\n\nHow wings lift.",
        }
    ],
    "response_time": "1.67",
}


def code(search, query="wings", k=8) -> str:
    with pytest.raises(LoopwrightError) as caught:
        search.search_sync(query, k)
    assert KEY not in str(caught.value)
    return caught.value.code


def engines(site):
    return {
        "searxng": (SearXNG(site.url, attempts=1), "/search", SEARXNG),
        "brave": (Brave(KEY, base_url=site.url, attempts=1), "/res/v1/web/search", BRAVE),
        "tavily": (Tavily(KEY, base_url=site.url, attempts=1, texts=True), "/search", TAVILY),
    }


ENGINES = ["searxng", "brave", "tavily"]


def test_the_examples_hold():
    for module in (loopwright.search._base, loopwright.search._hit, loopwright.search._local):
        assert doctest.testmod(module).failed == 0


def test_b18_searxng_is_asked_and_read_as_its_documentation_says(site):
    site.on("/search", json.dumps(SEARXNG), content_type="application/json")
    hits = SearXNG(site.url, engines=["brave", "qwant"], language="en").search_sync("wings & lift", k=5)
    assert hits == [
        Hit("Wings & lift", "https://example.org/a", "How wings lift.", None, "2024-05-01T00:00:00"),
        Hit("https://example.org/b", "https://example.org/b", "", None, None),
    ]
    asked = site.requests[0]
    assert asked.method == "GET"
    assert asked.path == "/search?q=wings+%26+lift&format=json&engines=brave%2Cqwant&language=en"


def test_b18_brave_is_asked_and_read_as_its_documentation_says(site):
    site.on("/res/v1/web/search", json.dumps(BRAVE), content_type="application/json")
    hits = Brave(KEY, base_url=site.url).search_sync("wings", k=50)
    assert hits == [
        Hit("Wings", "https://example.org/a", "How wings lift. … Swept wings too.", None, "2024-05-01T00:00:00")
    ]
    asked = site.requests[0]
    assert asked.path == "/res/v1/web/search?q=wings&count=20&text_decorations=false"
    assert asked.headers["x-subscription-token"] == KEY


def test_b18_tavily_is_asked_and_read_as_its_documentation_says(site):
    site.on("/search", json.dumps(TAVILY), content_type="application/json")
    hits = Tavily(KEY, base_url=site.url, texts=True).search_sync("wings", k=3)
    assert hits == [Hit("Wings", "https://example.org/a", "How wings lift.", "# Wings\n\nHow wings lift.", None)]
    asked = site.requests[0]
    assert (asked.method, asked.headers["authorization"]) == ("POST", f"Bearer {KEY}")
    assert json.loads(asked.body) == {
        "query": "wings",
        "max_results": 3,
        "search_depth": "basic",
        "topic": "general",
        "include_raw_content": True,
    }


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (b"", "invalid_body"),
        (b"<html>no</html>", "invalid_body"),
        (b"[" * 200_000, "invalid_body"),
        (b"[]", "invalid_body"),
        (b"\xff\xfe", "invalid_body"),
        (b'{"a": "' + b"x" * 5_000_000 + b'"}', "too_large"),
    ],
)
def test_what_is_no_answer_is_a_typed_error(site, name, body, wanted):
    search, path, _ = engines(site)[name]
    site.on(path, body, content_type="application/json")
    assert code(search) == wanted


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("strange", [None, 7, "x", {}, [None, 7, "x", [], {}], [{"url": 7}], [{"url": "ftp://x"}]])
def test_answers_of_other_shapes_hold_nothing(site, name, strange):
    search, path, whole = engines(site)[name]
    body = {**whole, "web": {"results": strange}, "results": strange}
    site.on(path, json.dumps(body), content_type="application/json")
    assert search.search_sync("wings") == []


@pytest.mark.parametrize("name", ENGINES)
def test_hostile_texts_are_bounded(site, name):
    search, path, _ = engines(site)[name]
    item = {
        "url": "https://example.org/a",
        "title": "<" * 100_000 + "\u202e\x00\ud800",
        "content": "x" * 400_000,
        "description": "x" * 400_000,
        "raw_content": "y" * 500_000,
    }
    items = [{**item, "url": f"https://example.org/{at}"} for at in range(1)]
    site.on(path, json.dumps({"results": items, "web": {"results": items}}), content_type="application/json")
    search = engines(site)[name][0]
    hits = search.search_sync("wings")
    assert len(hits) == 1
    for hit in hits:
        assert len(hit.title) <= 500
        assert len(hit.snippet) <= 4_000
        assert len(hit.text or "") <= 400_000
        hit.title.encode()
        assert "\x00" not in hit.title
        assert "\u202e" not in hit.title


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize(
    ("status", "wanted"), [(401, "auth"), (403, "auth"), (422, "bad_request"), (404, "bad_request")]
)
def test_refusals_are_typed_errors_and_not_repeated(site, name, status, wanted):
    _, path, _ = engines(site)[name]
    search = {"searxng": lambda: SearXNG(site.url), "brave": lambda: Brave(KEY, base_url=site.url)}
    search = search.get(name, lambda: Tavily(KEY, base_url=site.url))()
    site.on(path, "{}", f"{status} No")
    assert code(search) == wanted
    assert len(site.requests) == 1


@pytest.mark.parametrize("name", ENGINES)
def test_a_busy_service_is_asked_again_after_the_pause_it_wants(site, name):
    _, path, whole = engines(site)[name]
    times = []

    def serve(request):
        times.append(time.monotonic())
        if len(times) == 1:
            request.answer("{}", "429 Too Many Requests", retry_after="0.3")
        elif len(times) == 2:
            request.answer("{}", "503 Unavailable", retry_after="0.2")
        else:
            request.answer(json.dumps(whole))

    site.on(path, serve)
    search = engines(site)[name][0]
    search.attempts = 3
    assert search.search_sync("wings")
    assert times[1] - times[0] >= 0.3
    assert times[2] - times[1] >= 0.2


def test_a_pause_of_minutes_is_an_error_at_once(site):
    site.on("/search", "{}", "429 Too Many Requests", retry_after="600")
    assert code(SearXNG(site.url, timeout=60)) == "rate_limited"
    assert len(site.requests) == 1


def test_a_key_is_not_sent_to_where_an_answer_points(site):
    site.on("/elsewhere", "{}")
    site.on("/res/v1/web/search", "", "302 Found", location="/elsewhere")
    assert code(Brave(KEY, base_url=site.url)) == "redirected"
    assert site.asked("/elsewhere") == 0


def test_keys_show_nowhere(site, caplog):
    caplog.set_level(logging.DEBUG)
    site.on("/res/v1/web/search", "{}", "500 No")
    brave = Brave(KEY, base_url=site.url, attempts=1)
    assert code(brave) == "server"
    agent = Agent(ScriptedModel([text("x")]), tools=[brave.as_tool()])
    shown = [repr(brave), str(brave), str(vars(brave)), repr(agent), repr(brave.log), caplog.text]
    assert not any(KEY in each for each in shown)
    with pytest.raises(TypeError):
        pickle.dumps(vars(brave)["_key"])


def test_keys_come_from_the_environment(monkeypatch):
    for name in ("BRAVE_API_KEY", "BRAVE_SEARCH_API_KEY", "TAVILY_API_KEY", "SEARXNG_URL"):
        monkeypatch.delenv(name, raising=False)
    for make, wanted in ((Brave, "missing_key"), (Tavily, "missing_key"), (SearXNG, "invalid_url")):
        with pytest.raises(LoopwrightError) as caught:
            make()
        assert caught.value.code == wanted
    monkeypatch.setenv("BRAVE_SEARCH_API_KEY", KEY)
    monkeypatch.setenv("TAVILY_API_KEY", KEY)
    monkeypatch.setenv("SEARXNG_URL", "http://localhost:8080/")
    assert Brave() and Tavily() and SearXNG()


def test_a18_a19_a_search_has_a_time_limit_and_a_breaker(site):
    site.on("/search", lambda request: time.sleep(3))
    search = SearXNG(site.url, timeout=0.2, cooldown=0.5)
    assert [code(search) for _ in range(4)] == ["timeout", "timeout", "timeout", "breaker_open"]
    asked = site.asked("/search?q=wings&format=json")
    assert asked == 3
    site.on("/search", json.dumps(SEARXNG))
    time.sleep(0.6)
    assert search.search_sync("wings")
    assert search.search_sync("wings")
    assert [record.error for record in search.log] == ["timeout"] * 3 + [None] * 2
    assert search.log[-1].query == "wings"
    assert search.log[-1].hits[0].url == "https://example.org/a"
    assert search.log[-1].duration >= 0


def test_a19_a_half_open_breaker_lets_one_of_many_through():
    calls = []

    async def flaky(query, k):
        calls.append(query)
        await asyncio.sleep(0.05)
        if len(calls) <= 3:
            raise OSError("down")
        return []

    search = as_search(flaky)
    search._breaker = loopwright._core.Breaker(3, 0.2)

    async def main():
        for _ in range(3):
            with pytest.raises(LoopwrightError):
                await search.search("x")
        await asyncio.sleep(0.3)
        return await asyncio.gather(*(search.search("y") for _ in range(5)), return_exceptions=True)

    outcomes = asyncio.run(main())
    assert sorted(getattr(one, "code", "fine") for one in outcomes) == ["breaker_open"] * 4 + ["fine"]


def test_a_cancelled_search_says_nothing_about_the_service(site):
    site.on("/search", lambda request: time.sleep(5))
    search = SearXNG(site.url)

    async def main():
        for _ in range(5):
            task = asyncio.create_task(search.search("x"))
            await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        site.on("/search", json.dumps(SEARXNG))
        return await search.search("x")

    assert asyncio.run(main())


@pytest.mark.parametrize("query", ["", "  ", None, 7])
def test_queries_that_are_none(query):
    with pytest.raises(LoopwrightError) as caught:
        as_search(lambda query: []).search_sync(query)
    assert caught.value.code == "invalid_value"


def test_any_function_is_a_search():
    async def later(query, k):
        return [Hit("T", "https://example.org/", query)]

    class Odd:
        def search(self, query, k=3):
            return (each for each in [{"url": "https://example.org/", "title": "T", "snippet": query}] * k)

    for given in (lambda q: [{"url": "https://example.org/", "title": "T", "content": q}], later, Odd()):
        assert as_search(given).search_sync("wings", 1) == [Hit("T", "https://example.org/", "wings")]
    assert as_search(lambda q, k: None).search_sync("wings") == []
    for wrong in (lambda q: "text", lambda q: [7], lambda q: [{}], lambda q: 7):
        assert code(as_search(wrong)) == "invalid_value"
    assert code(as_search(lambda q: 1 / 0)) == "search_failed"
    with pytest.raises(LoopwrightError):
        as_search(7)


def test_b18_a_local_corpus_is_a_folder_or_texts(tmp_path):
    folder = tmp_path / "some docs"
    folder.mkdir()
    (folder / "wings.md").write_text("# Lift\n\nA swept wing lifts 3 kN at Mach 2.\n")
    (folder / "heat.html").write_text("<p>Heat flows through plates.</p>")
    (folder / ".gitignore").write_text("secret.md\n")
    (folder / "secret.md").write_text("A wing of gold.")
    corpus = LocalCorpus(folder)
    [hit] = corpus.search_sync("what does a wing lift")
    assert (hit.title, hit.snippet) == ("wings.md", "A swept wing lifts 3 kN at Mach 2.")
    assert hit.url == (folder / "wings.md").resolve().as_uri() + "#L3"
    assert "Mach 2" in hit.text
    [hit] = corpus.search_sync("heat flow")
    assert hit.text.strip() == "Heat flows through plates."
    texts = ["Wings lift.", {"title": "H", "url": "https://example.org/h", "text": "Heat flows."}, ("n", "Nothing.")]
    [hit] = LocalCorpus(texts).search_sync("heat")
    assert (hit.title, hit.url) == ("H", "https://example.org/h")
    assert LocalCorpus([]).search_sync("heat") == []
    empty = tmp_path / "empty"
    empty.mkdir()
    assert LocalCorpus(empty).search_sync("heat") == []
    for wrong in (tmp_path / "nowhere", 7, [7], [{"a": 1}]):
        with pytest.raises(LoopwrightError):
            LocalCorpus(wrong)


def test_a_local_corpus_gives_each_document_once_and_the_same_every_time():
    texts = {f"d{at}": f"Wing {at}. " * 40 for at in range(200)}
    corpus = LocalCorpus(texts)
    once = corpus.search_sync("wing 7", k=20)
    assert once == corpus.search_sync("wing 7", k=20)
    assert len({hit.url for hit in once}) == 20
    assert once[0].title == "d7"


def test_a_search_is_a_tool_for_an_agent():
    corpus = LocalCorpus({"wings.md": "A wing lifts 3 kN."})
    model = ScriptedModel(
        [call("web_search", query="wing lift"), call("web_search", query="nothing at all"), text("3 kN")]
    )
    result = Agent(model, tools=[corpus.as_tool()]).run_sync("how much does it lift?")
    assert result.final == "3 kN"
    assert result.searches == 2
    said = result.messages.to_json()
    assert "A wing lifts 3 kN." in said
    assert "local:wings.md" in said
    assert "Nothing was found" in said


def recording() -> tuple[dict, dict]:
    from pathlib import Path

    path = Path(__file__).parents[3].parent / "shared/data/recorded/anthropic/test_anthropic_web_search_tool.json"
    if not path.exists():
        pytest.skip("no recordings here")
    first, second = json.loads(path.read_text())
    return first["response"], second["response"]


def test_b18_the_providers_own_search_gives_what_it_found_and_cites():
    first, _ = recording()
    with WireServer([recorded(200, "application/json", first)]) as server:
        search = ProviderSearch("anthropic:claude-sonnet-4-0", base_url=server.url, api_key=KEY)
        hits = search.search_sync("San Francisco weather today")
        asked = server.requests[0]["body"]
    assert asked["tools"][0]["type"] == "web_search_20250305"
    assert len(hits) == 8
    assert all(hit.url.startswith("https://") and hit.title for hit in hits)
    assert any("Winds W at 10 to 20 mph" in hit.snippet for hit in hits)
    assert any(hit.published for hit in hits)


def test_b18_openais_own_search_gives_what_it_found_and_cites():
    message = {
        "role": "assistant",
        "content": [
            {
                "type": "provider",
                "wire": "openai_responses",
                "raw": {
                    "type": "web_search_call",
                    "id": "ws_1",
                    "status": "completed",
                    "action": {
                        "type": "search",
                        "query": "wings",
                        "sources": [{"type": "url", "url": "https://example.org/b"}],
                    },
                },
            },
            {
                "type": "text",
                "text": "Wings lift 3 kN.",
                "extra": {
                    "wire": "openai_responses",
                    "fields": {
                        "annotations": [
                            {
                                "type": "url_citation",
                                "start_index": 0,
                                "end_index": 16,
                                "url": "https://example.org/a",
                                "title": "A",
                            }
                        ]
                    },
                },
            },
        ],
    }
    reply = {"id": "", "model": "", "message": message, "stop": "end_turn", "usage": {"input": 1, "output": 1}}
    with WireServer([response(reply)]) as server:
        search = ProviderSearch("openai-responses:gpt", base_url=server.url, api_key=KEY)
        hits = search.search_sync("wings")
    assert hits == [
        Hit("https://example.org/b", "https://example.org/b", ""),
        Hit("A", "https://example.org/a", "Wings lift 3 kN."),
    ]


def test_a_provider_that_does_not_search_is_a_typed_error():
    with WireServer([text("I know that.")]) as server:
        search = ProviderSearch("anthropic:m", base_url=server.url, api_key=KEY)
        assert code(search) == "no_search"


def test_a_failed_search_of_the_provider_is_a_typed_error():
    blocks = [
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}},
        {
            "type": "web_search_tool_result",
            "tool_use_id": "s1",
            "content": {"type": "web_search_tool_result_error", "error_code": "unavailable"},
        },
    ]
    content = [{"type": "provider", "wire": "anthropic", "raw": raw} for raw in blocks] + [
        {"type": "text", "text": "no"}
    ]
    reply = {
        "id": "",
        "model": "",
        "message": {"role": "assistant", "content": content},
        "stop": "end_turn",
        "usage": {"input": 1, "output": 1},
    }
    with WireServer([response(reply)]) as server:
        assert code(ProviderSearch("anthropic:m", base_url=server.url, api_key=KEY)) == "search_failed"


def test_messages_tell_what_was_searched_for():
    from loopwright import wire

    first, second = recording()
    messages = [wire.decode_response("anthropic", json.dumps(each)).message for each in (first, second)]
    found = searches_of(messages)
    assert [query for query, _, _ in found.searches] == ["San Francisco weather today", "Mexico City weather today"]
    assert all(hits and error is None for _, hits, error in found.searches)


BRAVE_422 = {
    "type": "ErrorResponse",
    "error": {
        "id": "1",
        "status": 422,
        "code": "SUBSCRIPTION_TOKEN_INVALID",
        "detail": "The provided subscription token is invalid.",
    },
    "time": 1,
}


@pytest.mark.parametrize(
    ("name", "status", "body", "wanted", "words"),
    [
        ("brave", "422 Unprocessable Entity", BRAVE_422, "auth", "subscription token is invalid"),
        ("brave", "422 Unprocessable Entity", {"error": {"code": "VALIDATION", "detail": "q is too long"}}, "bad_request", "q is too long"),
        ("brave", "402 Payment Required", {"error": {"detail": "pay"}}, "quota", "pay"),
        ("tavily", "401 Unauthorized", {"detail": {"error": "Unauthorized: missing or invalid API key."}}, "auth", "invalid API key"),
        ("tavily", "432 Limit", {"detail": {"error": "This request exceeds your plan's set usage limit."}}, "quota", "usage limit"),
        ("tavily", "433 Limit", {"detail": {"error": "pay-as-you-go limit"}}, "quota", "pay-as-you-go"),
        ("tavily", "400 Bad", {"detail": {"error": f"no such topic {KEY}"}}, "bad_request", "no such topic …"),
        ("tavily", "422 Bad", {"detail": [{"loc": ["body"], "msg": "field required"}]}, "bad_request", "field required"),
        ("searxng", "403 Forbidden", "<html>403</html>", "auth", "JSON format"),
        ("searxng", "429 Too Many Requests", "Too many", "rate_limited", "429"),
        ("brave", "500 Server Error", "<html>oops</html>", "server", "500"),
    ],
)  # fmt: skip
def test_b18_refusals_say_in_the_services_words_what_is_wrong(site, name, status, body, wanted, words):
    search, path, _ = engines(site)[name]
    site.on(path, body if isinstance(body, str) else json.dumps(body), status, content_type="application/json")
    with pytest.raises(LoopwrightError) as caught:
        search.search_sync("wings")
    assert caught.value.code == wanted
    assert words in str(caught.value)
    assert KEY not in str(caught.value)
    assert search.log[0].error == wanted


@pytest.mark.parametrize("name", ENGINES)
def test_b18_a_date_to_try_again_at_is_waited_for(site, name):
    _, path, whole = engines(site)[name]
    times = []

    def serve(request):
        times.append(time.monotonic())
        if len(times) == 1:
            at = formatdate(time.time() + 2, usegmt=True)
            request.answer("{}", "429 Too Many Requests", retry_after=at, date=formatdate(usegmt=True))
        else:
            request.answer(json.dumps(whole))

    site.on(path, serve)
    search = engines(site)[name][0]
    search.attempts = 2
    assert search.search_sync("wings")
    assert times[1] - times[0] >= 0.9


def test_b18_the_window_of_a_limit_is_waited_for_unless_it_is_a_month(site):
    path, answers = "/res/v1/web/search", []

    def serve(request):
        answers.append(time.monotonic())
        if len(answers) == 1:
            headers = {"x_ratelimit_remaining": "0, 900", "x_ratelimit_reset": "1, 1419704"}
            request.answer("{}", "429 Too Many Requests", **headers)
        else:
            request.answer(json.dumps(BRAVE))

    site.on(path, serve)
    assert Brave(KEY, base_url=site.url).search_sync("wings")
    assert answers[1] - answers[0] >= 1
    site.on(path, "{}", "429 Too Many", x_ratelimit_remaining="1, 0", x_ratelimit_reset="1, 1419704")
    asked = len(site.requests)
    assert code(Brave(KEY, base_url=site.url)) == "rate_limited"
    assert len(site.requests) == asked + 1


@pytest.mark.parametrize("name", ENGINES)
def test_b18_a_body_that_is_cut_is_a_typed_error(site, name):
    search, path, whole = engines(site)[name]
    body = json.dumps(whole)
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    site.on(path, lambda request: request.send((head + body[: len(body) // 2]).encode()))
    assert code(search) == "cut"


@pytest.mark.parametrize("name", ENGINES)
def test_b18_hits_may_lack_all_but_their_address(site, name):
    search, path, _ = engines(site)[name]
    items = [{"title": "no address"}, {"url": "https://example.org/bare"}, {"url": "  "}, {"url": None, "title": "x"}]
    site.on(path, json.dumps({"results": items, "web": {"results": items}}), content_type="application/json")
    assert search.search_sync("wings") == [Hit("https://example.org/bare", "https://example.org/bare")]


@pytest.mark.parametrize("name", ENGINES)
def test_b18_an_empty_answer_is_no_error(site, name):
    search, path, _ = engines(site)[name]
    site.on(path, "{}", content_type="application/json")
    assert search.search_sync("wings") == []
    assert search.log[0].error is None


@pytest.mark.parametrize(("model", "path"), [("anthropic:m", "/v1/messages"), ("openai-responses:m", "/v1/responses")])
@pytest.mark.parametrize(
    ("status", "body", "wanted"),
    [
        ("401 Unauthorized", '{"error": {"message": "no such key"}}', "auth"),
        ("402 Payment Required", '{"error": {"message": "pay"}}', "quota"),
        ("422 Unprocessable", '{"error": {"message": "no"}}', "bad_request"),
        ("429 Too Many Requests", '{"error": {"message": "slowly"}}', "rate_limited"),
        ("500 Server Error", '{"error": {"message": "oops"}}', "server"),
        ("200 OK", "<html>hello</html>", "invalid_body"),
        ("200 OK", "{}", "invalid_body"),
    ],
)
def test_b18_what_goes_wrong_with_the_providers_own_search_is_a_typed_error(site, model, path, status, body, wanted):
    site.on(path, body, status, content_type="application/json")
    base = f"{site.url}/v1" if model.startswith("openai") else site.url
    search = ProviderSearch(model, base_url=base, api_key=KEY, attempts=1)
    assert code(search) == wanted
    assert search.log[0].error == wanted
