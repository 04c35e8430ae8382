"""`loopwright serve` as a process of its own, asked by an official client."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from command_line import COMMAND, environment
from loopwright.testing import WireServer

pytest.importorskip("uvicorn")
pytest.importorskip("openai")
import openai

if TYPE_CHECKING:
    from collections.abc import Callable

HI: Any = [{"role": "user", "content": "hi"}]
MODELS = """
from loopwright.testing import ScriptedModel

models = {"one": ScriptedModel(["first"]), "two": ScriptedModel(["second"])}
"""


@contextlib.contextmanager
def served(folder: Path, *arguments: str, **more: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process, and the address that it tells."""
    command = [*COMMAND, "serve", *arguments, "--port", "0"]
    # Whoever runs the tests in the background has told their children to ignore Ctrl-C.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        started = subprocess.Popen(
            command, cwd=folder, env=environment(**more), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
    finally:
        signal.signal(signal.SIGINT, before)
    with started as process:
        try:
            assert process.stderr is not None
            told = process.stderr.readline()
            found = re.search(r"OpenAI: (http://\S+/v1)", told)
            assert found is not None, told
            yield process, found[1]
        finally:
            process.kill()


def said(url: str, model: str = "m", key: str = "k") -> str | None:
    with openai.OpenAI(base_url=url, api_key=key, max_retries=0) as gpt:
        return gpt.chat.completions.create(model=model, messages=HI).choices[0].message.content


def test_a_model_by_its_name_is_served_with_keys_from_the_environment_until_ctrl_c(tmp_path: Path) -> None:
    with WireServer(["Hello."], key="sk-of-the-provider") as upstream:
        arguments = [
            "openai-chat:test",
            "--base-url",
            upstream.url,
            "--api-key-env",
            "PROVIDER",
            "--key-env",
            "CLIENTS",
        ]
        keys = {"PROVIDER": "sk-of-the-provider", "CLIENTS": "sk-of-clients"}
        with served(tmp_path, *arguments, **keys) as (process, url):
            with pytest.raises(openai.AuthenticationError):
                said(url, key="another")
            assert said(url, key="sk-of-clients") == "Hello."
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "sk-of" not in out + err


def test_models_of_a_file_are_served_by_their_names(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(MODELS)
    with served(tmp_path, "app.py:models") as (_, url):
        assert (said(url, "two"), said(url, "one")) == ("second", "first")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["openai-chat:test", "--host", "0.0.0.0"], "no key is wanted"),
        (["openai-chat:test", "--key-env", "NOT_THERE"], "NOT_THERE"),
        (["openai-chat:test", "--host", "192.0.2.1", "--key-env", "CLIENTS"], "192.0.2.1"),
        (["nowhere.py:models"], "nowhere.py"),
        (["app.py:models", "--fallback", "openai:x"], "--fallback"),
        (["nobody:test"], "nobody"),
        (["openai-chat:test", "--context", "few"], "few"),
        (["openai-chat:test", "--policy", "nowhere.toml"], "nowhere.toml"),
    ],
)
def test_what_cannot_be_served_is_wrong_usage(
    loopwright: Callable[..., Any], tmp_path: Path, arguments: list[str], words: str
) -> None:
    (tmp_path / "app.py").write_text(MODELS)
    ended = loopwright("serve", *arguments, CLIENTS="sk-x", OPENAI_API_KEY="k")
    assert ended.code == 2
    assert words in ended.err
    assert os.sep + "app.py" not in ended.err
