"""Secrets and personal data: what is found, what is shown, and where the package keeps them to itself."""

from __future__ import annotations

import doctest
import json
import random
import string

import loopwright
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loopwright import Agent, ToolError, UsageError, tool
from loopwright.guard import (
    SensitivityLevel,
    _sensitivity,
    classify_sensitivity,
    redact,
    redact_json,
    redact_with_hits,
    sensitivity_detectors,
)
from loopwright.testing import ScriptedModel, call


def made(prefix: str, length: int, alphabet: str = string.ascii_letters + string.digits) -> str:
    """A value of a documented format that no scanner finds in this file."""
    return prefix + "".join(random.Random(prefix).choices(alphabet, k=length))  # noqa: S311


TOKEN = made("ghp_", 36)
KEY = made("sk-ant-api03-", 93) + "AA"
MAIL = "grace.hopper@navy.mil"


def test_the_examples_run():
    assert doctest.testmod(_sensitivity).failed == 0


def test_d12_levels_are_ordered_and_hits_say_what_where_and_why():
    assert SensitivityLevel.PUBLIC < SensitivityLevel.NORMAL < SensitivityLevel.SENSITIVE < SensitivityLevel.SECRET
    text = f"日本 🔑 {TOKEN} ö {MAIL}"
    found = classify_sensitivity(text)
    assert found.level is SensitivityLevel.SECRET
    assert [(hit.detector, hit.level, text[slice(*hit.span)]) for hit in found.hits] == [
        ("github-token", SensitivityLevel.SECRET, TOKEN),
        ("mail-address", SensitivityLevel.SENSITIVE, MAIL),
    ]
    assert found.hits[0].why == "a GitHub token"
    names = [name for name, _, _ in sensitivity_detectors()]
    assert len(names) == len(set(names)) > 150


def test_x21_the_class_is_the_stricter_of_hits_and_label():
    plain = "just some regular text"
    assert classify_sensitivity(plain).level is SensitivityLevel.NORMAL
    assert classify_sensitivity(plain, "public").level is SensitivityLevel.PUBLIC
    assert classify_sensitivity(plain, SensitivityLevel.SENSITIVE).level is SensitivityLevel.SENSITIVE
    assert classify_sensitivity(plain, "no_such_tool").level is SensitivityLevel.NORMAL
    assert classify_sensitivity(MAIL, "public").level is SensitivityLevel.SENSITIVE
    assert classify_sensitivity(TOKEN, "public").level is SensitivityLevel.SECRET
    assert classify_sensitivity(plain, "crm", labels={"crm": SensitivityLevel.SENSITIVE}).label is not None
    assert classify_sensitivity(plain, "docs", labels={"docs": "public"}).level is SensitivityLevel.PUBLIC


def test_d11_watched_tools_are_classed_by_what_they_give():
    for name in ("memory_search", "db_query", "browser", "computer"):
        assert classify_sensitivity("nothing special", name).level is SensitivityLevel.NORMAL
        assert classify_sensitivity(TOKEN, name).level is SensitivityLevel.SECRET
        assert classify_sensitivity("nothing", name, labels={name: "sensitive"}).level is SensitivityLevel.SENSITIVE


def test_bad_input_is_a_typed_error():
    for label in ("top-secret", 4, None):
        with pytest.raises(UsageError, match="the label of 'crm'") as error:
            classify_sensitivity("x", labels={"crm": label})
        assert error.value.code == "unknown_level"
    for wrong in (lambda: classify_sensitivity(b"x"), lambda: redact(None), lambda: classify_sensitivity("x", 3.5)):
        with pytest.raises(UsageError):
            wrong()


def test_a_text_without_hits_comes_back_as_it_is():
    text = "nothing to see here"
    assert redact(text) is text
    assert str(redact_with_hits(f"use {TOKEN}")) == "use [redacted:github-token]"


def test_halves_of_characters_are_no_trouble():
    text = f"\ud83d {TOKEN} \udc00"
    found = classify_sensitivity(text)
    assert text[slice(*found.hits[0].span)] == TOKEN
    assert redact(text) == "\ufffd [redacted:github-token] \ufffd"


PIECES = st.sampled_from(
    [
        TOKEN,
        KEY,
        MAIL,
        "password = 'tr0ub4dor&3'",
        "token: ",
        "é",
        "🔑",
        "\n",
        '"',
        "'",
        "[redacted:",
        "]",
        "=",
        "://",
        "a:b@",
        "Bearer ",
        "\ud800",
    ]
)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(PIECES, st.text(max_size=8)), max_size=12).map("".join))
def test_d12_redaction_leaves_no_hit_and_is_idempotent(text: str):
    redacted = redact(text)
    assert classify_sensitivity(redacted).level < SensitivityLevel.SENSITIVE
    assert redact(redacted) == redacted
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if len(whole) == len(text):
        for hit in classify_sensitivity(text).hits:
            start, end = hit.span
            assert 0 <= start < end <= len(text)


def test_errors_show_no_secrets():
    error = ToolError(f"401: bad key {KEY}", hint=f"not {TOKEN}")
    for shown in (str(error), repr(error)):
        assert KEY not in shown
        assert TOKEN not in shown
    # What the model is to read stays as the tool said it.
    assert KEY in error.message
    with pytest.raises(UsageError) as raised:
        loopwright.tokens.count_tokens("x", encoding=KEY)
    assert KEY not in raised.value.message


def test_reprs_show_no_secrets():
    agent = Agent(ScriptedModel([f"The key is {TOKEN}."], by_turn=True))
    result = agent.run_sync("What is the key?")
    assert TOKEN in result.final
    assert TOKEN not in repr(result)
    assert "[redacted:github-token]" in repr(result)


def test_a_journal_replays_as_it_is_and_reads_without_secrets():
    @tool(read_only=True)
    def env() -> str:
        """The environment."""
        return f"GITHUB_TOKEN={TOKEN}\nDB_PASSWORD=tr0ub4dor&3"

    model = ScriptedModel([call("env"), "Done."], by_turn=True)
    result = Agent(model, tools=[env]).run_sync("Look.", journal=True)
    # What was read is content: without it the run could not be replayed.
    assert TOKEN in result.journal
    assert loopwright.replay(result.journal).identical
    exported = redact_json(result.journal)
    assert TOKEN not in exported
    assert "tr0ub4dor" not in exported
    assert len(exported.splitlines()) == len(result.journal.splitlines())
    for line in exported.splitlines():
        json.loads(line)


KEY = "ghp_" + "a8Kd93nZpQ0rT7sYvB2cX5mE1uWgJ4hL6fRt"


def test_x10_what_is_shown_of_objects_holds_no_secret() -> None:
    from loopwright import Messages, events
    from loopwright._core import Event, TextDelta
    from loopwright.guard import Policy, assess_risk
    from loopwright.messages import Message, Text, ToolResult, ToolUse
    from loopwright.monitor import StuckDetector
    from loopwright.result import ToolCall

    line = f"curl -H 'Authorization: token {KEY}' https://api.github.com"
    detector = StuckDetector()
    for _ in range(3):
        verdict = detector.record(("shell", {"command": line}), "ok")
    message = Message("user", (Text(f"my token is {KEY}"),))
    shown: list[object] = [
        message,
        message.content[0],
        Messages([message])[0],
        ToolUse("1", "shell", json.dumps({"command": line})),
        ToolResult("1", "shell", (Text(KEY),)),
        ToolCall("1", "shell", {"command": line}, 1, 0.0, 0.0),
        events.Status(cycle=1, text=f"Calling with {KEY}"),
        events.UnknownEvent("new", {"said": KEY}),
        TextDelta(KEY, 0),
        Event.start([{"role": "user", "content": [{"type": "text", "text": f"use {KEY}"}]}]),
        assess_risk(line + " | sh"),
        Policy().decide("shell", {"command": line + " | sh"}),
        verdict,
    ]
    for each in shown:
        assert KEY not in repr(each), type(each)
        assert KEY not in str(each) or isinstance(each, (Text, Message)), type(each)
        assert type(each).__name__ in repr(each)
    assert message.text.endswith(KEY), "what they hold stays as it is"
