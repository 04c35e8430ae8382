"""Bad input: each mistake has a type, a code, and words that say what to do."""

from __future__ import annotations

import ast
import asyncio
import pickle
import re
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from loopwright import (
    Agent,
    Budget,
    Guard,
    LoopwrightError,
    Model,
    ModelError,
    Monitor,
    ProviderError,
    UsageError,
    tool,
)
from loopwright.errors import InternalError
from loopwright.models import Call, ModelFailure
from loopwright.testing import ScriptedModel, call, calls, fault, recorded
from loopwright.tools import InvalidOutput
from ways import agent_at, run


@tool
def look(query: str) -> str:
    """Look."""
    return query


def caught_of(make: Any) -> LoopwrightError:
    with pytest.raises(LoopwrightError) as caught:
        make()
    error = caught.value
    assert error.code
    assert error.message
    return error


@pytest.mark.parametrize(
    ("model", "code"),
    [
        ("claude-sonnet-4-5", "unknown_model"),
        ("nobody:model", "unknown_provider"),
        ("offline:other", "unknown_model"),
        ("", "unknown_model"),
        (":", "unknown_model"),
    ],
)
def test_unknown_models_and_providers(model: str, code: str) -> None:
    error = caught_of(lambda: Agent(Model(model, api_key="k")))
    assert isinstance(error, UsageError)
    assert error.hint
    assert error.code in {code, "unknown_provider", "invalid_model", "unknown_model"}


def test_a_model_that_is_none() -> None:
    for wrong in (3, object()):
        error = caught_of(lambda wrong=wrong: Agent(wrong))
        assert (type(error), error.code) == (UsageError, "unknown_model")


def test_a_missing_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, variable in [("anthropic", "ANTHROPIC_API_KEY"), ("openai", "OPENAI_API_KEY")]:
        monkeypatch.delenv(variable, raising=False)
        error = caught_of(lambda name=name: Agent(f"{name}:model").run_sync("?"))
        assert (type(error), error.code) == (UsageError, "missing_key")
        assert variable in str(error)


def test_a_wrong_address() -> None:
    for url in ("not a url", "ftp://host/", "http://", "localhost:80"):
        error = caught_of(lambda url=url: Agent(Model("ollama:x", base_url=url)))
        assert isinstance(error, UsageError)
        assert error.hint or "http" in error.message


def test_wrong_settings() -> None:
    model = ScriptedModel(["x"])
    wrong: list[Callable[[], Agent[Any, Any]]] = [
        lambda: Agent(model, settings={"temperature": -1}),
        lambda: Agent(model, settings={"temperature": "hot"}),  # type: ignore[typeddict-item]
        lambda: Agent(model, settings={"max_tokens": -5}),
        lambda: Agent(Model(model, retry={"attempt": 3})),
        lambda: Agent(model, monitor=Monitor(stuck={"nonsense": 1})),  # type: ignore[arg-type]
        lambda: Agent(Model(model, price={"input": -1})),
        lambda: Agent(model, guard=Guard(timeout=-1)),
        lambda: Agent(model, settings={"effort": "extreme"}),  # type: ignore[typeddict-item]
        lambda: Agent(model, settings={"tool_choice": "no_such_tool"}),
    ]
    for number, make in enumerate(wrong):
        error = caught_of(lambda make=make: make().run_sync("go"))
        assert isinstance(error, UsageError), number
    for timeouts in ({"first": 1}, {"idle": 0}, {"idle": float("nan")}):
        assert isinstance(caught_of(lambda timeouts=timeouts: Agent(Model("ollama:x", timeouts=timeouts))), UsageError)
    for limits in ({"rounds": -1}, {"rounds": 1.5}, {"wall_time": "long"}, {"tokens": True}):
        assert caught_of(lambda limits=limits: Budget(**limits)).code == "invalid_budget"


def test_schemas_that_can_not_be_made(way: str) -> None:
    class Opaque:
        pass

    error = caught_of(lambda: run(Agent(ScriptedModel(["x"]), output_type=Opaque), "go", way))
    assert error.hint
    assert "Opaque" in error.message

    def takes(thing: Opaque) -> str:
        """Take."""
        return str(thing)

    error = caught_of(lambda: run(Agent(ScriptedModel(["x"]), tools=[takes]), "go", way))
    assert "takes" in error.message


def test_tools_of_the_same_name() -> None:
    @tool(name="look")
    def other(query: str) -> str:
        """Another."""
        return query

    error = caught_of(lambda: Agent(ScriptedModel([]), tools=[look, other]))
    assert error.hint
    assert "look" in error.message


def test_a_tool_that_returns_what_can_not_be_written(way: str) -> None:
    @tool
    def socket_of() -> Any:
        """Give something odd."""
        return threading.Lock()

    result, _ = run(Agent(ScriptedModel([call("socket_of"), "ok"]), tools=[socket_of]), "go", way)
    assert result.final == "ok"
    assert result.tool_calls[0].failure == "not_serialisable"


def test_prompts_and_messages_that_make_no_sense() -> None:
    agent = Agent(ScriptedModel(["ok"]))
    loop: list[Any] = []
    loop.append(loop)
    prompts: list[Any] = [
        "",
        "   ",
        [],
        3,
        [3],
        {"type": "nonsense"},
        [{"type": "text"}],
        {"type": "text", "text": loop},
    ]
    for prompt in prompts:
        assert isinstance(caught_of(lambda prompt=prompt: agent.run_sync(prompt)), UsageError), prompt
    histories: list[Any] = [
        "text",
        {"role": "user"},
        [{"role": "nobody", "content": []}],
        [3],
        [{"role": "user", "content": object()}],
    ]
    for messages in histories:
        assert isinstance(caught_of(lambda messages=messages: agent.run_sync("hi", messages=messages)), UsageError), (
            messages
        )
    for text in ("\ud800", float("nan")):
        assert isinstance(caught_of(lambda text=text: agent.run_sync({"type": "text", "text": text})), UsageError)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def test_nobody_at_the_address(way: str) -> None:
    agent = Agent(Model("ollama:x", base_url=f"http://127.0.0.1:{free_port()}", retry={"attempts": 1}))
    with pytest.raises(ProviderError) as caught:
        run(agent, "go", way)
    assert caught.value.code == "connect"
    assert caught.value.result is not None
    assert caught.value.result.messages.to_dicts()[0]["role"] == "user"
    nowhere = Agent(Model("ollama:x", base_url="http://no-such-host.invalid", retry={"attempts": 1}))
    with pytest.raises(ProviderError) as caught:
        run(nowhere, "go", way)
    assert caught.value.code == "connect"


def test_a_certificate_of_a_stranger(tmp_path: Any) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "1"]
        + ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
        capture_output=True,
        check=False,
    )
    if made.returncode:
        pytest.skip("openssl makes no certificate here")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            try:
                while True:
                    plain, _ = server.accept()
                    with plain:
                        try:
                            context.wrap_socket(plain, server_side=True).close()
                        except OSError:
                            pass
            except OSError:
                return

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        url = f"https://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(ProviderError) as caught:
            Agent(Model("ollama:x", base_url=url, retry={"attempts": 1})).run_sync("go")
        server.shutdown(socket.SHUT_RDWR)
    thread.join(2)
    assert caught.value.code == "tls"
    assert "certificate" in str(caught.value).lower()


def test_bodies_that_are_no_answer(serve: Any, wire: str, way: str) -> None:
    bodies = [
        recorded(200, "text/html", "<html>It works!</html>"),
        recorded(200, "application/json", "{"),
        recorded(200, "application/json", "[]"),
        recorded(200, "application/json", '"text"'),
        recorded(200, "application/json", "{}"),
        recorded(200, "application/json", '{"error": {"message": "no", "type": "x"}}'),
    ]
    for body in bodies:
        server = serve(body, repeat_last=True)
        with pytest.raises(LoopwrightError) as caught:
            run(agent_at(server, wire, retry={"attempts": 1}), "go", way)
        assert isinstance(caught.value, (ProviderError, ModelError)), body
        assert not isinstance(caught.value, InternalError)
        assert caught.value.result is not None


def test_a_model_of_ones_own_that_breaks(way: str) -> None:
    class Breaks:
        def respond(self, _request: Any) -> Any:
            raise ZeroDivisionError("mine")

    class Odd:
        def respond(self, _request: Any) -> Any:
            return 3

    with pytest.raises(ZeroDivisionError, match="mine"):
        run(Agent(Breaks()), "go", way)
    with pytest.raises(TypeError, match="must give a Response or text, not int"):
        run(Agent(Odd()), "go", way)


def test_a_script_that_is_used_up_says_so_with_what_was_reached(way: str) -> None:
    with pytest.raises(ModelError, match="used up") as caught:
        run(Agent(ScriptedModel([call("look", query="a")]), tools=[look]), "go", way)
    assert caught.value.code == "unexpected_request"
    assert caught.value.result is not None
    assert [each.name for each in caught.value.result.tool_calls] == ["look"]


def test_a_bug_of_ours_never_looks_like_a_tools(monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    from loopwright import _driver

    def broken(*_: Any) -> Any:
        raise RuntimeError("a bug of the engine")

    monkeypatch.setattr(_driver.Driver, "executed", broken)

    @tool
    async def other(query: str) -> str:
        """Look."""
        return query

    for name, each in (("look", look), ("other", other)):
        with pytest.raises(RuntimeError, match="a bug of the engine"):
            run(Agent(ScriptedModel([call(name, query="a"), "never"]), tools=[each]), "go", way)


def test_answers_that_do_not_fit_end_with_a_typed_error(way: str) -> None:
    with pytest.raises(InvalidOutput) as caught:
        run(Agent(ScriptedModel(["no"] * 3), output_type=int), "go", way)
    assert caught.value.result is not None
    assert caught.value.result.rounds == 3


def test_journals_that_can_not_be_made(tmp_path: Any, way: str) -> None:
    agent = Agent(ScriptedModel(["a", "b"]))
    path = tmp_path / "run.jsonl"
    path.write_text("here already")
    error = caught_of(lambda: run(agent, "go", way, journal=path))
    assert (type(error), error.code) == (UsageError, "journal")
    assert path.read_text() == "here already"
    error = caught_of(lambda: run(agent, "go", way, journal=path / "folder"))
    assert error.code == "journal"


def test_a_full_disk_is_told(way: str) -> None:
    with pytest.raises((OSError, LoopwrightError)) as caught:
        run(
            Agent(ScriptedModel([call("look", query="x" * 100_000), "b"]), tools=[look]),
            "go",
            way,
            journal="/dev/full/x",
        )
    assert caught.value


def test_errors_survive_pickling() -> None:
    error = caught_of(lambda: Agent("nobody:model"))
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    assert (type(again), again.code, again.message, again.hint) == (type(error), error.code, error.message, error.hint)


def test_a_run_that_fails_still_ends_its_stream_with_a_result(serve: Any) -> None:
    from loopwright.events import RunFinished

    server = serve(recorded(400, "application/json", "{}"))
    events: list[Any] = []

    async def main() -> None:
        stream = agent_at(server).stream("go")
        with pytest.raises(ProviderError) as caught:
            async for event in stream:
                events.append(event)
        assert isinstance(events[-1], RunFinished)
        assert stream.result.error is caught.value

    asyncio.run(main())


def test_a_scripted_model_has_no_wire_that_could_fail() -> None:
    for reply in (fault.status(529), fault.cut(after=1), recorded(200, "application/json", "{}")):
        error = caught_of(lambda reply=reply: ScriptedModel([reply]))
        assert isinstance(error, UsageError)
        assert "WireServer" in (error.hint or "")


@pytest.mark.parametrize("late", [False, True], ids=["plain", "async"])
def test_a_function_of_a_script_may_give_whatever_a_step_is(late: bool) -> None:
    @tool
    def work(n: int) -> str:
        """Works."""
        return str(n)

    def step(answer: Any) -> Any:
        async def later(_: Any) -> Any:
            return answer

        return later if late else lambda _: answer

    answers = [call("work", n=1), calls(Call("work", {"n": 2}), Call("work", {"n": 3}), text="and"), "done"]
    result = asyncio.run(Agent(ScriptedModel([step(each) for each in answers]), tools=[work]).run("go"))
    assert result.final == "done"
    assert [each.arguments for each in result.tool_calls] == [{"n": 1}, {"n": 2}, {"n": 3}]
    for reply, code in ((fault.status(529), "invalid_script"), (ModelFailure("no", "auth"), "auth")):
        with pytest.raises(LoopwrightError) as caught:
            asyncio.run(Agent(ScriptedModel([step(reply)] * 9)).run("go"))
        assert caught.value.code == code, caught.value


def test_every_usage_error_says_what_to_do() -> None:
    """In the sources: a hint stands with each, or is added to it at once."""
    root = Path(__file__).parents[2]
    without: list[str] = []
    for path in sorted((root / "python").rglob("*.py")):
        for each in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(each, ast.Call) and getattr(each.func, "id", "") == "UsageError":
                hinted = len(each.args) > 2 or {"hint"} & {keyword.arg for keyword in each.keywords}
                starred = any(isinstance(argument, ast.Starred) for argument in each.args)
                if not hinted and not starred:
                    without.append(f"{path.name}:{each.lineno}")
    # What is told of another error (`..Error::usage`) carries that error's words; a definition is no use.
    called = re.compile(r"(?<!\.\.)\bError::usage\(")
    for path in sorted([*(root / "src").rglob("*.rs"), *(root / "crates").glob("*/src/**/*.rs")]):
        source = path.read_text(encoding="utf-8").partition("#[cfg(test)]\nmod tests")[0]
        if path.name in ("tests.rs", "error.rs"):
            continue
        for each in called.finditer(source):
            if ".hint(" not in source[each.start() : each.start() + 450]:
                without.append(f"{path.name}:{source[: each.start()].count(chr(10)) + 1}")
    assert without == []
