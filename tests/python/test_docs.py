"""The tables of the docs are complete: they are held against the code that they describe."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
from loopwright import Agent, Budget, Model, UsageError, events
from loopwright.machine import MachineConfig
from loopwright.result import StopReason
from loopwright.testing import ScriptedModel

ROOT = Path(__file__).parents[2]


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_every_reason_to_stop_is_explained():
    code = read("crates/machine/src/outcome.rs")
    names = re.findall(r'Self::\w+ => "(\w+)"', code)
    assert len(names) == len(set(names)) > 20
    table = read("docs/learn/3-limits.md").split("| `result.stop_reason` |")[1].split("\n\n")[0]
    assert set(re.findall(r"`(\w+)`", "".join(line.split("|")[1] for line in table.splitlines()[2:]))) == set(names)
    assert sorted(get_args(StopReason)) == sorted(names)


def test_every_warning_is_explained():
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "crates/machine/src").rglob("*.rs"))
    # A call that did not run is its own failure, no warning.
    codes = set(re.findall(r'(?:\.warn\(\s*(?:out,\s*)?|=> \(|Warning \{ code: )"([a-z_]+)"', code)) - {"not_run"}
    table = read("docs/learn/3-limits.md").split("| warning |")[1].split("\n\n")[0]
    told = set(re.findall(r"`(\w+)`", "".join(line.split("|")[1] for line in table.splitlines()[2:])))
    assert len(codes) > 15
    assert told == codes


def test_every_command_is_said_to_be_answered_by_something():
    code = read("crates/machine/src/command.rs").split("pub enum Command {")[1].split("\n}\n")[0]
    commands = [name.lower() for name in re.findall(r"^    ([A-Z]\w+)", code, re.MULTILINE)]
    events = read("crates/machine/src/event.rs").split("pub enum EventKind {")[1].split("\n}\n")[0]
    names = {name.lower() for name in re.findall(r"^    ([A-Z]\w+)", events, re.MULTILINE)}
    page = read("docs/architecture.md").split("### Commands and what answers them")[1].split("\n## ")[0]
    rows = [row.split("|")[1:4] for row in page.splitlines() if row.startswith("| `")]
    told = {name for row in rows for name in re.findall(r"`(\w+)`", row[0])}
    assert len(commands) > 15
    # The tree carries these two out.
    assert told == set(commands) - {"spawn", "interrupt"}
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row[2])} <= names


def test_every_limit_of_the_budget_is_explained_with_its_default():
    table = dict(re.findall(r"^\| `(\w+)` \| (\w+) \|", read("docs/learn/3-limits.md"), re.MULTILINE))
    for field in dataclasses.fields(Budget):
        assert table[field.name] == ("none" if field.default is None else f"{field.default:g}"), field.name


def test_w20_every_provider_is_listed_with_what_it_takes_and_nothing_is_stale():
    code = read("crates/models/src/providers.toml")
    rows = read("docs/providers.md")
    names = re.findall(r"^\[provider\.([\w-]+)\]", code, re.MULTILINE)
    assert len(names) == 26
    for name in names:
        assert f"| `{name}` |" in rows, name
    for variable in set(re.findall(r'"([A-Z]+_[A-Z_]+)"', code)):
        assert re.search(rf"\b{variable}\b", rows), variable
    done = subprocess.run([sys.executable, ROOT / "tests" / "providers.py", "--check"], timeout=60, check=False)
    assert done.returncode == 0, "the tables of docs/providers.md are not up to date: run `make docs`"


def test_every_variable_that_the_docs_name_is_read():
    code = "".join(
        path.read_text(encoding="utf-8")
        for folder in ("src", "crates", "python/loopwright")
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in (".rs", ".py", ".toml")
    )
    for page in sorted((ROOT / "docs").rglob("*.md")):
        if page.name == "benchmarks.md" or page.parent.name in ("measurements", "coming-from"):
            continue
        for variable in re.findall(r"`([A-Z]+_[A-Z_]+)`", page.read_text(encoding="utf-8")):
            assert f'"{variable}"' in code or f'"{variable.lower()}"' in code, f"{page.name}: {variable}"


def test_numbers_of_the_transport_are_those_of_the_code():
    page = read("docs/transport.md")
    limits = dict(re.findall(r"^\| `(\w+)` \| (\d+) \|", page, re.MULTILINE))
    defaults = re.search(r"Self \{ connect: .*? \}", read("crates/drive/src/options.rs"))
    assert defaults is not None
    assert {name: float(value) for name, value in limits.items()} == {
        name: float(value) for name, value in re.findall(r"(\w+): ([\d.]+)", defaults[0])
    }
    retry = MachineConfig.turn({"model": "m"}).to_json()
    for field, words in {
        '"attempts":4': "gets 4 attempts",
        '"base":0.5': "0.5 seconds at first",
        '"cap":8.0': "never exceeds 8 seconds",
        '"longest_retry_after":60.0': "more than 60 seconds",
    }.items():
        assert field in retry
        assert words in " ".join(page.split())
    assert "Self::new(3, 30.0)" in read("crates/base/src/breaker.rs")


def test_every_kind_of_failure_is_said_to_be_repeated_or_not():
    code = read("crates/base/src/error.rs")
    names = dict(re.findall(r'Self::(\w+) => "(\w+)"', code))
    transient = set(re.findall(r"Self::(\w+)", code.split("fn is_transient")[1].split("}")[0]))
    rows = read("docs/transport.md").split("| failure | kinds |")[1].split("\n\n")[0].splitlines()[2:]
    told = [set(re.findall(r"`(\w+)`", row.split("|")[2])) for row in rows]
    assert told[0] == {names[name] for name in transient}
    # These two never come from a provider: ours, and the caller's own wish.
    assert set.union(*told) == set(names.values()) - {"internal", "cancelled"}


def test_every_event_can_be_told_apart_by_its_fields():
    for kind in get_args(events.Event):
        assert kind.__doc__, kind
        assert kind.__match_args__, kind


@pytest.mark.parametrize("name", ["connect", "first_byte", "idle", "total"])
def test_time_limits_have_the_names_that_the_docs_say(name):
    Agent(Model("ollama:any", timeouts={name: 1.5}))
    with pytest.raises(UsageError, match=name):
        Agent(Model("ollama:any", timeouts={name: -1.0}))


def test_a_run_takes_the_options_that_the_docs_say():
    result = Agent(
        Model(ScriptedModel(["Hi."]), retry={"attempts": 6, "cap": 20, "longest_retry_after": 120})
    ).run_sync("Hi?")
    assert result.final == "Hi."
