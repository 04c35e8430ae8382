"""`loopwright models`, and what `loopwright doctor` says of keys and of a model."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from loopwright import prices
from loopwright.cli.model_facts import providers
from loopwright.context import window_of

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[3]
KEY = "sk-ant-very-secret-0123456789"


def test_every_provider_is_listed_and_whether_it_can_be_asked(loopwright: Callable) -> None:
    table = (ROOT / "crates" / "models" / "src" / "providers.toml").read_text(encoding="utf-8")
    assert sorted(providers()) == sorted(re.findall(r"^\[provider\.([\w-]+)\]", table, re.MULTILINE))
    told = json.loads(loopwright("models", "--json", ANTHROPIC_API_KEY=KEY).out)["providers"]
    assert sorted(each["name"] for each in told) == sorted(providers())
    missing = {each["name"]: each["missing"] for each in told}
    assert missing["anthropic"] is None
    assert missing["openai"] == "OPENAI_API_KEY is not set"
    assert missing["ollama"] is None
    ended = loopwright("models", ANTHROPIC_API_KEY=KEY)
    assert (ended.code, ended.err) == (0, "")
    assert re.search(r"^  anthropic +\d+  at api\.anthropic\.com:443$", ended.out, re.MULTILINE)
    assert KEY not in ended.out


def test_the_models_of_a_provider_are_listed_with_window_and_prices(loopwright: Callable) -> None:
    ended = loopwright("models", "anthropic", "--json")
    told = {each["model"]: each for each in json.loads(ended.out)["models"]}
    assert list(told) == [name for name in prices.names() if name.startswith("anthropic:")]
    for name, each in told.items():
        price = prices.of(name)
        assert price is not None
        assert (each["window"], each["price"]) == (window_of(name), price._asdict())
    lines = loopwright("models", "gpt-5-mini").out.splitlines()
    assert [line.split() for line in lines if "openai:gpt-5-mini" in line] == [
        ["openai:gpt-5-mini", "272,000", "0.25", "2", "0.025"]
    ]


def test_what_is_replaced_on_a_model_is_what_requests_show(loopwright: Callable) -> None:
    told = json.loads(loopwright("models", "anthropic:claude-opus-4-7", "--json").out)
    assert "takes no temperature: it was left out" in told["replaced"]
    assert told["provider"]["wire"] == "anthropic"
    older = loopwright("models", "anthropic:claude-sonnet-4-5").out
    assert "takes no top_p beside a temperature" in older
    assert "takes no temperature: it was left out" not in older
    assert "takes no stop: it was left out" in loopwright("models", "openai:gpt-5").out
    assert "can't be said from here" in loopwright("models", "vertex:gemini-2.5-pro").out
    assert re.search(r"replaced +nothing", loopwright("models", "offline:extractive").out)


def test_what_nobody_knows_is_wrong_usage(loopwright: Callable) -> None:
    for name in ("no-such-thing", "nobody:m", "anthropic:"):
        ended = loopwright("models", name)
        assert ended.code == 2, name
        assert ended.err.startswith("error: ")
    assert "any name works: groq:NAME" in loopwright("models", "groq").out


def test_doctor_names_keys_without_showing_them_and_what_is_replaced(loopwright: Callable, tmp_path: Path) -> None:
    ended = loopwright("doctor", "--model", "anthropic:claude-opus-4-7", ANTHROPIC_API_KEY=KEY)
    assert (ended.code, ended.err) == (0, "")
    assert KEY not in ended.out
    assert re.search(r"^keys +there: anthropic$", ended.out, re.MULTILINE)
    assert "OPENAI_API_KEY" in ended.out
    assert "takes no temperature: it was left out" in ended.out
    told = json.loads(loopwright("doctor", "--json", LOOPWRIGHT_MODEL="ollama:qwen3").out)
    assert told["model"]["name"] == "ollama:qwen3"
    assert told["keys"]["there"] == []
    assert "ollama" in told["keys"]["none_needed"]
    assert told["store"] == {"path": str(Path(".loopwright") / "journal.db"), "runs": None}
    loopwright("ask", "What?", "--in", str(tmp_path))
    assert json.loads(loopwright("doctor", "--json").out)["store"]["runs"] == 1
