"""What adapters say where the other package is missing, or of another version; none of them is needed to look."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module, metadata
from typing import Any

import pytest
from loopwright import UsageError, _extras

ADAPTERS = {
    "pydantic_ai": ("LoopwrightModel", "pydantic-ai"),
    "langchain": ("ChatLoopwright", "langchain"),
    "openai_agents": ("LoopwrightModel", "openai-agents"),
    "litellm": ("register", "litellm"),
}


@pytest.mark.parametrize("version", [None, "0.0.1", "99.1"])
@pytest.mark.parametrize("name", list(ADAPTERS))
def test_an_adapter_says_what_to_install(monkeypatch: Any, name: str, version: str | None) -> None:
    def found(package: str) -> str:
        if version is None:
            raise metadata.PackageNotFoundError(package)
        return version

    public, extra = ADAPTERS[name]
    _extras.need.cache_clear()
    monkeypatch.setattr(metadata, "version", found)
    with pytest.raises(UsageError) as caught:
        getattr(import_module(f"loopwright.adapters.{name}"), public)
    _extras.need.cache_clear()
    assert caught.value.code == ("missing_extra" if version is None else "wrong_version")
    assert f"pip install 'loopwright[{extra}]'" in (caught.value.hint or "")
    assert version is None or version in caught.value.message


def test_importing_adapters_imports_nothing_of_others() -> None:
    names = ", ".join(f"loopwright.adapters.{name}" for name in ADAPTERS)
    others = ["pydantic_ai", "langchain", "langchain_core", "agents", "litellm", "openai", "pydantic"]
    code = f"import sys, {names}; print([each for each in {others} if each in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", list(ADAPTERS))
def test_a_name_that_is_not_there_is_an_attribute_error(name: str) -> None:
    module = import_module(f"loopwright.adapters.{name}")
    with pytest.raises(AttributeError):
        module.nothing_of_this_name  # noqa: B018
    assert sorted(module.__all__) == list(module.__all__)
