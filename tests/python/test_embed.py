"""Vectors of texts by models, over real sockets."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from loopwright import Grounded, Memory, Model, ProviderError, Research, UsageError
from loopwright.embeddings import Embeddings, embed, embed_sync
from loopwright.monitor import GoalDrift
from loopwright.retrieve import Index
from loopwright.testing import ScriptedModel, WireServer
from typing_extensions import Self

SMALL = "openai:text-embedding-3-small"
TEXTS = [f"text number {n}" for n in range(10)]


def asked(server: WireServer) -> list[dict[str, Any]]:
    return [request["body"] for request in server.requests]


def vectors(*given: list[float], **more: Any) -> dict[str, Any]:
    return {"data": [{"index": at, "embedding": one} for at, one in enumerate(given)], **more}


class Answers:
    """A server whose `/embeddings` answers from a list: a status and a body for each request."""

    def __init__(self, *answers: tuple[int, Any], headers: dict[str, str] | None = None) -> None:
        import threading
        from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

        self.seen: list[dict[str, Any]] = []
        waiting, seen = list(answers), self.seen

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                seen.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
                status, body = waiting.pop(0)
                said = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                for name, value in (headers or {}).items():
                    self.send_header(name, value)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def test_vectors_come_in_the_order_of_their_texts_with_what_they_took() -> None:
    with WireServer() as server:
        made = embed_sync(SMALL, TEXTS, base_url=server.url, api_key="k", batch=3, cache=False)
        again = asyncio.run(_embedded(SMALL, TEXTS, base_url=server.url, api_key="k", cache=False))
        shown = server.requests
    assert isinstance(made, Embeddings) and isinstance(made, list)
    assert made == again and len(made) == len(TEXTS) and len({len(vector) for vector in made}) == 1
    assert (made.model, made.usage.input_tokens) == (SMALL, again.usage.input_tokens)
    assert made.cost is not None and made.cost > 0
    assert [request["path"] for request in shown] == ["/v1/embeddings"] * 5
    # Several go at once, so their order on the way is anybody's.
    first, whole = shown[:4], shown[4]["body"]
    assert sorted(text for request in first for text in request["body"]["input"]) == sorted(TEXTS)
    assert sorted(len(request["body"]["input"]) for request in first) == [1, 3, 3, 3]
    assert whole == {"model": "text-embedding-3-small", "input": TEXTS}


async def _embedded(*given: Any, **options: Any) -> Embeddings:
    return await embed(*given, **options)


def test_requests_hold_no_more_tokens_and_texts_than_the_provider_takes() -> None:
    long = ["x" * 200_000, "y" * 90_000, "z" * 90_000]
    many = [str(n) for n in range(2_049)]
    with WireServer() as server:
        embed_sync(SMALL, long, base_url=server.url, api_key="k", cache=False)
        embed_sync(SMALL, many, base_url=server.url, api_key="k", cache=False)
        sizes = sorted(len(body["input"]) for body in asked(server))
    assert sizes == [1, 1, 2, 2_048]


def test_nothing_is_asked_for_nothing() -> None:
    made = embed_sync(SMALL, [], api_key="k")
    assert (made, made.usage.input_tokens, made.cost) == ([], 0, 0.0)


def test_what_was_embedded_is_not_asked_for_again(tmp_path: Path) -> None:
    with WireServer() as server:
        place: dict[str, Any] = {"base_url": server.url, "api_key": "k"}
        first = embed_sync(SMALL, ["a dog", "a boat", "a dog"], **place)
        more = embed_sync(SMALL, ["a boat", "a hound"], **place)
        assert [body["input"] for body in asked(server)] == [["a dog", "a boat"], ["a hound"]]
        assert more[0] == first[1] and first[0] == first[2] and first[0] is not first[2]
        assert embed_sync(SMALL, ["a dog"], **place).usage.input_tokens == 0
        # Another model, another length, another place: another vector.
        embed_sync("openai:text-embedding-3-large", ["a dog"], **place)
        assert len(embed_sync(SMALL, ["a dog"], dimensions=8, **place)[0]) == 8
        embed_sync(SMALL, ["a dog"], cache=False, **place)
        assert len(asked(server)) == 5
        # A file keeps them beyond the process.
        path = tmp_path / "vectors.db"
        kept = embed_sync(SMALL, ["a dog", "ein Hund \u00e4"], cache=path, **place)
        assert len(asked(server)) == 6
        program = (
            "import sys, json, loopwright\n"
            f"made = loopwright.embeddings.embed_sync({SMALL!r}, ['a dog', 'ein Hund \\u00e4'], base_url=sys.argv[1], api_key='k', "
            "cache=sys.argv[2])\nprint(json.dumps(made))"
        )
        told = subprocess.run(
            [sys.executable, "-c", program, server.url, str(path)], capture_output=True, text=True, check=True
        )
        assert json.loads(told.stdout) == kept
        assert asyncio.run(_embedded(SMALL, ["a dog"], cache=path, **place))[0] == kept[0]
        assert len(asked(server)) == 6
    (tmp_path / "other.txt").write_text("no cache, but a text that is long enough to be seen as none")
    with pytest.raises(UsageError) as failed:
        embed_sync(SMALL, ["a"], api_key="k", cache=tmp_path / "other.txt")
    assert failed.value.code == "invalid_cache"


def test_the_cache_in_memory_is_bounded() -> None:
    from loopwright._vector_cache import VectorCache, content_key

    cache = VectorCache(numbers=6)
    keys = [content_key("m", text) for text in "abcd"]
    cache.keep({key: [float(at), 0.5] for at, key in enumerate(keys[:3])})
    assert set(cache.found(keys)) == set(keys[:3])
    cache.found([keys[0]])
    cache.keep({keys[3]: [3.0, 0.5]})
    assert cache.found(keys) == {keys[0]: [0.0, 0.5], keys[2]: [2.0, 0.5], keys[3]: [3.0, 0.5]}


def test_a_failed_request_is_tried_again_and_one_that_is_wrong_is_not() -> None:
    quick = Model(SMALL, api_key="sk-secret-123456", retry={"base": 0.001})
    busy = {"error": {"message": "slow down", "type": "requests", "code": "rate_limit_exceeded"}}
    with Answers((429, busy), (503, b"no"), (200, vectors([1, 2]))) as server:
        assert embed_sync(quick, ["a"], base_url=server.url, cache=False) == [[1, 2]]
        assert len(server.seen) == 3
    wrong = {"error": {"message": "no such model for sk-secret-123456", "code": "model_not_found"}}
    with Answers((404, wrong)) as server, pytest.raises(ProviderError) as failed:
        embed_sync(quick, ["a"], base_url=server.url, cache=False)
    assert failed.value.code == "not_found" and "sk-secret" not in str(failed.value)
    with Answers(*[(500, b"no")] * 2) as server, pytest.raises(ProviderError) as failed:
        patient = Model(SMALL, api_key="k", retry={"attempts": 2, "base": 0.001})
        embed_sync(patient, ["a"], base_url=server.url, cache=False)
    assert (failed.value.code, failed.value.status) == ("server", 500)
    with pytest.raises(ProviderError) as failed:
        embed_sync(Model(SMALL, api_key="k", retry={"attempts": 1}), ["a"], base_url="http://127.0.0.1:9", cache=False)
    assert failed.value.code == "connect"


@pytest.mark.parametrize(
    "body",
    [
        vectors([1.0, 2.0]),
        vectors([1.0, 2.0], [1.0]),
        vectors([], []),
        {"data": [{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [2.0]}]},
        {"data": [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [None]}]},
        b'{"data": [{"embedding": [1e999]}, {"embedding": [1.0]}]}',
        {"data": "none"},
        b"<html>",
        b"",
    ],
)
def test_an_answer_that_is_none_is_said_to_be_none(body: Any) -> None:
    once = Model(SMALL, api_key="k", retry={"attempts": 1})
    with Answers((200, body)) as server, pytest.raises(ProviderError) as failed:
        embed_sync(once, ["a", "b"], base_url=server.url, cache=False)
    assert failed.value.code == "invalid_body", failed.value


def test_an_answer_may_number_its_vectors_or_not_and_count_tokens_or_not() -> None:
    whole = vectors([1.0], [2.0], usage=None)
    turned = {"data": whole["data"][::-1]}
    bare = {"data": [{"embedding": [1.0]}, {"embedding": [2.0]}], "usage": {"total_tokens": 7}}
    with Answers((200, whole), (200, turned), (200, bare)) as server:
        place: dict[str, Any] = {"base_url": server.url, "api_key": "k", "cache": False}
        made = [embed_sync(SMALL, ["a", "b"], **place) for _ in range(3)]
    assert all(one == [[1.0], [2.0]] for one in made)
    assert [one.usage.input_tokens for one in made] == [0, 0, 7]
    assert [one.cost is None for one in made] == [True, True, False], "what nobody has counted has no price"


def test_gemini_has_a_shape_of_its_own() -> None:
    with WireServer() as server:
        made = embed_sync("gemini:gemini-embedding-001", ["a", "b c"], base_url=server.url, api_key="k", dimensions=16)
        request = server.requests[0]
    assert request["path"] == "/v1beta/models/gemini-embedding-001:batchEmbedContents"
    assert request["body"]["requests"][1] == {
        "model": "models/gemini-embedding-001",
        "content": {"parts": [{"text": "b c"}]},
        "outputDimensionality": 16,
    }
    assert [len(vector) for vector in made] == [16, 16] and made.cost is None


def test_keys_and_addresses_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with WireServer(["-"], key="sk-env") as server:
        monkeypatch.setenv("MISTRAL_API_KEY", "sk-env")
        monkeypatch.setenv("MISTRAL_BASE_URL", server.url)
        assert len(embed_sync("mistral:mistral-embed", ["a"], cache=False)) == 1
        header = dict(server.requests[0]["headers"])["authorization"]
    assert header == "***"
    monkeypatch.delenv("MISTRAL_API_KEY")
    monkeypatch.delenv("MISTRAL_BASE_URL")
    with pytest.raises(UsageError) as failed:
        embed_sync("mistral:mistral-embed", ["a"], cache=False)
    assert failed.value.code == "missing_key"
    with WireServer() as server:
        keys = iter(["one", "two"])
        rolling = Model(SMALL, base_url=server.url, api_key=lambda: next(keys))
        embed_sync(rolling, ["a"], cache=False)
        embed_sync(rolling, ["a"], cache=False)
        assert next(keys, None) is None


@pytest.mark.parametrize(
    ("model", "texts", "options", "code", "words"),
    [
        ("anthropic:claude-sonnet-4-5", ["a"], {}, "no_embeddings", "openai"),
        ("groq:m", ["a"], {}, "no_embeddings", "mistral"),
        ("offline:extractive", ["a"], {}, "no_embeddings", "ollama"),
        ("anthropic:claude-sonnet-4-5", ["a"], {"api_key": None}, "no_embeddings", "openai"),
        (SMALL, ["a"], {"api_key": None}, "missing_key", "OPENAI_API_KEY"),
        ("nobody:m", ["a"], {}, "unknown_provider", "known are"),
        (SMALL, "a text", {}, "invalid_value", "a list"),
        (SMALL, [1], {}, "invalid_value", "a str"),
        (SMALL, ["a", ""], {}, "empty_text", "text number 1"),
        (SMALL, ["\ud800"], {}, "invalid_text", "surrogate"),
        (SMALL, ["a"], {"batch": 0}, "invalid_option", "batch"),
        (SMALL, ["a"], {"dimensions": True}, "invalid_option", "dimensions"),
        ("together:m", ["a"], {"dimensions": 8}, "invalid_option", "can't be chosen"),
        (Model(SMALL, api_key="k", fallback=["ollama:m"]), ["a"], {"api_key": None}, "invalid_option", "compared"),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_sent(
    model: Any, texts: Any, options: dict[str, Any], code: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UsageError) as failed:
        embed_sync(model, texts, **{"api_key": "k", "cache": False, **options})
    assert failed.value.code == code and words in str(failed.value), failed.value


def test_a_call_that_is_cancelled_closes_its_connection() -> None:
    came, gone = asyncio.Event(), asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        came.set()
        while await reader.read(1_000):
            pass
        gone.set()
        writer.close()

    async def given_up() -> None:
        server = await asyncio.start_server(silent, "127.0.0.1", 0)
        place = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        task = asyncio.ensure_future(embed(SMALL, ["a"], base_url=place, api_key="k", cache=False))
        await came.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await gone.wait()
        server.close()

    asyncio.run(given_up())


def test_an_embedder_may_be_the_name_of_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").write_text("# Boats\n\nThe boat lies in the harbour of Oslo.\n")
    with WireServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "k")
        memory = Memory(embedder=SMALL)
        memory.remember("a red boat in the harbour", "semantic")
        assert memory.recall("harbour boat")[0].text == "a red boat in the harbour"
        index = Index(["the red boat", "a grey hound"], embedder=Model(SMALL))
        assert index.search("boat", k=1)[0].text == "the red boat"
        index.save(tmp_path / "index.jsonl")
        assert len(Index.load(tmp_path / "index.jsonl", embedder=SMALL)) == 2
        drift = GoalDrift("paint the boat red", embedder=SMALL)
        assert drift.observe("which red is best for the boat?").state == "on_goal"
        before = len(server.requests)
        good = "The boat lies in the harbour of Oslo. [a.md:3]"
        grounded = Grounded(ScriptedModel([good] * 2), sources=folder, embedder=SMALL)
        assert grounded.run_sync("Where does the boat lie?").verified
        assert len(server.requests) > before
        before = len(server.requests)
        pages = [{"title": "Tides", "url": "t.md", "text": "Tides are the rise and fall of the sea. " * 3}]
        result = Research("offline:extractive", corpus=pages, embedder=SMALL).run_sync("What are the tides?")
        assert result.state["cycles"] >= 1 and len(server.requests) > before
        assert {request["path"] for request in server.requests} == {"/v1/embeddings"}
    with pytest.raises(UsageError) as failed:
        Memory(embedder="somebody")
    assert failed.value.code == "unknown_model"


@pytest.mark.parametrize(("section", "page"), [("embeddings", "Vectors of texts"), ("batches", "Batches")])
def test_the_page_names_the_providers_of_the_table(section: str, page: str) -> None:
    root = Path(__file__).parents[2]
    table = (root / "crates/models/src/providers.toml").read_text(encoding="utf-8").split(f"\n[{section}]\n")[1]
    known = re.findall(r"^([\w-]+) = ", table.split("\n[")[0], re.MULTILINE)
    told = (root / "docs/providers.md").read_text(encoding="utf-8").split(f"\n## {page}\n")[1]
    assert sorted(known) == re.split(r"\s+", re.findall(r"`([a-z\s-]+)`", told.split("**Providers", 1)[1])[0])


def test_a_text_that_is_too_long_is_said_to_be_so() -> None:
    refused = {"error": {"message": "input too long", "code": "context_length_exceeded"}}
    with Answers((400, refused)) as server, pytest.raises(ProviderError) as failed:
        embed_sync(SMALL, ["a"], base_url=server.url, api_key="k", cache=False)
    assert failed.value.code == "context_too_long"


def test_what_a_model_passes_on_stands_in_the_body_and_tells_vectors_apart() -> None:
    with WireServer() as server:
        place: Any = {"base_url": server.url, "api_key": "k"}
        for kind in ("query", "passage", "query"):
            extra: Any = {"extra_body": {"input_type": kind, "routing": {"only": ["eu"]}}}
            embed_sync(Model(SMALL, **place, settings=extra), ["one text of its own kind"])
        bodies = asked(server)
    assert [body["input_type"] for body in bodies] == ["query", "passage"]
    assert all(body["routing"] == {"only": ["eu"]} for body in bodies)


def test_servers_at_one_host_keep_vectors_of_their_own() -> None:
    with WireServer() as server:
        for path in ("/en/v1", "/de/v1", "/v1?deployment=one", "/v1?deployment=two", "/en/v1"):
            embed_sync("openai-chat:m", ["a text at several places"], base_url=f"{server.url}{path}", api_key="k")
        assert len(server.requests) == 4


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [({"prompt_tokens": 7}, 7), ({"prompt_tokens": "7"}, 7), ({"total_tokens": 7.0}, 7), ({"prompt_tokens": -3}, 0),
     ({"prompt_tokens": "many"}, 0), ("none", 0), (None, 0)],
)  # fmt: skip
def test_vectors_are_good_whatever_was_counted(usage: Any, tokens: int) -> None:
    with Answers((200, vectors([1.0], usage=usage))) as server:
        made = embed_sync(SMALL, ["a"], base_url=server.url, api_key="k", cache=False)
    assert (list(made[0]), made.usage.input_tokens) == ([1.0], tokens)
