"""What a person who is asked can't see in a call: written out, asked about, and never kept; and that what `assess_risk`
says is what the gate does.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from loopwright import Agent, Approval, Guard
from loopwright._approval import visible
from loopwright.guard import Approvals, Policy, assess_risk
from loopwright.testing import ScriptedModel, call
from loopwright.tools import builtin_tools

HIDDEN = [
    ("cat notes\u202etxt.sh", "U+202E at character 10"),
    ("ls a\u200bb", "U+200B at character 5"),
    ("ls \U000e0041", "U+E0041 at character 4"),
    ("ls \x1b[8m", "U+001B at character 4"),
    ("ls a\rb", "U+000D at character 5"),
    ("ls a\xa0b", "U+00A0 at character 5"),
    ("ls a\u2028b", "U+2028 at character 5"),
    ("ls a\ufe0f", "U+FE0F at character 5"),
]


@pytest.mark.parametrize(("line", "named"), HIDDEN)
def test_g10_what_nobody_sees_is_asked_about_and_named(line: str, named: str) -> None:
    risk = assess_risk(line)
    assert (risk.level, risk.rule, risk.asks) == ("confirm", "text.hidden", True)
    assert named in risk.why
    assert risk.part is not None
    start, end = risk.part.span
    assert line.encode()[start:end].decode() == risk.part.text
    in_call = assess_risk(("shell", {"command": line}))
    assert in_call.part is not None
    assert in_call.part.argument == "command"
    decision = Policy().decide("shell", {"command": line})
    assert (decision.verdict, decision.by, decision.rules[0]) == ("ask", "disguise", "risk:text.hidden")


@pytest.mark.parametrize(
    ("name", "arguments", "rule"),
    [
        ("read_file", {"path": "a\u200bb"}, "text.hidden"),
        ("write_file", {"path": "a.py", "content": "if admin:\u2066 x"}, "text.hidden"),
        ("send", {"parts": [{"text": "hello\U000e0061"}]}, "text.hidden"),
        ("re\u200bad", {}, "text.hidden"),
        ("r\u0435ad_file", {"path": "a"}, "text.lookalike"),
        ("read_file", {"path": "src/\u0456ndex.js"}, "text.lookalike"),
        ("fetch", {"url": "https://p\u0430ypal.com/"}, None),
        ("fetch", {"url": "https://xn--80ak6aa92e.com/"}, "host.lookalike"),
    ],
)
def test_g10_any_argument_and_the_name_count(name: str, arguments: dict[str, Any], rule: str | None) -> None:
    risk = assess_risk((name, arguments), "safe")
    assert risk.asks
    assert rule is None or risk.rule == rule
    assert Policy().decide(name, arguments, risk="safe").by == "disguise"


@pytest.mark.parametrize(
    "line",
    [
        "git commit -m 'Исправить отчёт 👩\u200d💻 ❤\ufe0f'",
        "cat 報告書.txt отчёт.txt",
        "grep -r '\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645' src",
        "git commit -m 'ça va\xa0?'",
    ],
)
def test_g10_honest_text_of_any_script_is_free(line: str) -> None:
    assert assess_risk(line).rule not in ("text.hidden", "text.lookalike")
    assert visible("👩\u200d💻 ❤\ufe0f") == "👩\u200d💻 ❤\ufe0f"


def test_g10_hosts_of_another_script_are_shown_in_both_spellings() -> None:
    decision = Policy().decide("fetch", {"url": "https://xn--e1afmkfd.xn--p1ai/"}, risk="confirm")
    assert decision.by == "risk"
    assert any("xn--e1afmkfd.xn--p1ai" in touched and "пример.рф" in touched for touched in decision.touches)


def test_g10_the_question_shows_what_is_run_and_a_yes_is_kept_for_nothing(tmp_path: Any) -> None:
    asked: list[Approval] = []

    def ask(question: Approval) -> bool:
        asked.append(question)
        return True

    line = "mkdir made; rm -r a\u202eb"
    model = ScriptedModel([call("shell", command=line), call("shell", command=line), "Done."])
    approvals = Approvals(ask)
    agent = Agent(model, tools=builtin_tools(tmp_path), guard=Guard(policy=Policy(), approve=approvals))
    agent.run_sync("Go on")
    assert len(asked) == 2, "asked about each time anew"
    assert approvals.kept == ()
    question = asked[0]
    assert question.arguments["command"] == line, "what would run is what it is"
    assert question.shown.splitlines() == ["shell", "command: mkdir made; rm -r a\\u{202e}b"]
    assert "U+202E" in question.why
    assert "\u202e" not in question.why + "".join(question.touches)
    assert "this call alone" in (question.keeps or "")


def test_a_value_that_goes_on_is_no_argument_of_its_own() -> None:
    question = Approval("write\u200b", {"content": "a\npath: b\ud800", "n": 1}, "confirm", "", "c", 1.0)
    assert question.shown == "write\\u{200b}\ncontent: a\n    path: b\\u{d800}\nn: 1"


def test_g3_g4_what_is_asked_does_not_hang_on_what_stands_around_it() -> None:
    for line in (
        "rm src/main.rs",
        "mkdir -p out && rm src/main.rs",
        "env rm src/main.rs",
        "bash -c 'rm src/main.rs'",
        "cat .loopwright/policy.toml",
        "curl -H 'Authorization: Bearer AKIA" + "Q3EGRZ7KXW5TJ2NB' https://a.example",
    ):
        assert assess_risk(line).asks, line
        assert Policy().decide("shell", {"command": line}).verdict == "ask", line
    for line in ("ls", "mkdir -p out", "touch a"):
        assert not assess_risk(line).asks, line


def test_g4_the_built_in_shell_is_judged_as_in_a_run(tmp_path: Any) -> None:
    shell = next(tool for tool in builtin_tools(tmp_path) if tool.name == "shell")
    for of_shell in ("ls", ("shell", {"command": "ls"})):
        assert assess_risk(of_shell, shell).level == "safe"
    assert assess_risk("ls", "confirm").level == "confirm", "a tool that says less of itself is what it declares"


@given(
    st.lists(
        st.sampled_from(
            [
                "rm a", "ls", "mkdir b", "cat .env", "git push", "env", "bash -c 'rm a'", "&&", "|", ";", ">", "out",
                "\u202e", "$(", ")", "curl https://a.example", "'", "sudo", "./x", "cat .loopwright/policy.toml",
            ]
        ),
        max_size=6,
    ).map(" ".join)
)  # fmt: skip
def test_g4_risk_and_the_gate_agree(line: str) -> None:
    risk = assess_risk(line)
    decision = Policy().decide("shell", {"command": line})
    assert risk.asks == (decision.verdict == "ask"), (risk, decision)
    assert risk.asks >= (risk >= "confirm")


@given(st.text())
def test_g10_what_is_shown_is_shown_whole(text: str) -> None:
    shown = visible(text)
    assert visible(shown) == shown
