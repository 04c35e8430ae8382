"""The five designs: a short program each, which says what its author would look for, and the page about their rows."""

from __future__ import annotations

import dataclasses
import functools
import importlib.util
import inspect
import re
from pathlib import Path
from typing import Any

import pytest
from test_examples import printed
from test_requirements import requirements

ROOT = Path(__file__).parents[2]
PROGRAMS = sorted((ROOT / "examples" / "designs").glob("*.py"))


@functools.cache
def said(name: str) -> str:
    """What the program prints, without a key."""
    return printed(ROOT / "examples" / "designs" / f"{name}.py")


def in_order(text: str, *pieces: str) -> None:
    """The pieces stand in the text, one behind the other."""
    at = 0
    for piece in pieces:
        found = text.find(piece, at)
        assert found >= 0, f"{piece!r} is not behind {text[max(0, at - 80) : at]!r} in:\n{text}"
        at = found + len(piece)


def test_there_is_a_short_program_for_each_design():
    assert [path.stem for path in PROGRAMS] == [
        "fluid_loop", "full_turn", "grounded_answer", "research_spiral", "search_verifier",
    ]  # fmt: skip
    for path in PROGRAMS:
        lines = path.read_text(encoding="utf-8").splitlines()
        assert len(lines) <= 60, path.name
        assert path.read_text(encoding="utf-8").startswith('"""'), path.name


def verified(number: int) -> str:
    """What the verifier says of one of the three claims."""
    return said("search_verifier").split("rounds]\n")[number]


def test_a03_a11_a12_a13_a15_a16_a17_searches_and_rounds_are_told_while_text_streams():
    claim = verified(0)
    in_order(
        claim, "[search started", "Let me see. ", "[round 1 took 0.", "It holds.", "[round 2 took 0.", "true, 83.0"
    )
    in_order(
        claim, "[search finished: opened; 1 so far]", "[search finished: 1932; 2 so far]", "[simple: 2 searches, 2 "
    )
    assert "!" not in claim


def test_a20_a21_a_dead_search_still_gives_a_verdict_and_says_so():
    broken, refused = verified(1), verified(2)
    in_order(broken, "[search failed: opened; 1 so far]", "true, 83.0 of 100", "! every search failed: unavailable")
    in_order(refused, "true, 83.0 of 100", "! without_tools: the provider refused the request with tools", "0 searches")


def test_b01_b10_b14_b22_b24_b28_b29_the_spiral_tells_plans_gain_and_trend():
    out = said("research_spiral")
    in_order(
        out,
        "[1] Searching for pull of the moon; ",
        "[1] The report will cover: The pull of the moon; The sun.",
        "'accepted': 1, 'gain': None, 'trend': 'just_starting'",
        "The sun has no support yet.",
        "[2] Searching for sun spring tides.",
        "Storms raise the sea as well.",
        "[3] Searching for storm surge of the west wind.",
        "Nothing is missing.",
        "[4] Writing the report: 3 sections.",
    )
    gain = re.search(r"'gain': (0\.\d+), 'trend': 'decreasing'", out)
    assert gain is not None, out
    assert float(gain[1]) > 0.05


def test_b11_b21_b30_x12_x16_the_report_is_cited_checked_and_says_why_it_ended():
    out = said("research_spiral")
    report = out[: out.index("\n[", out.index("## Sources"))]
    in_order(
        report, "## Abstract", "The moon causes most of the tide [1]", "## Storm surges", "[3].", "## Sources", "3. "
    )
    assert "It stopped because the plan was that nothing is left to look for." in report
    assert "99 miles" not in report
    in_order(out.split(report)[1], "The sea is 99 miles deep", "does not hold the number 99", "('Storm surges', 0.")


def test_c12_c14_c15_c18_c22_c27_the_loop_goes_ahead_asks_and_slows_down():
    out = said("fluid_loop")
    in_order(
        out,
        "continue: ",
        "(read, read), the riskiest safe",
        "(write), the riskiest cautious",
        "pause_for_confirm: ",
        "(delete), the riskiest confirm",
        "ApprovalDecided: True",
        "continue: a stated next step without a call",
        "ApprovalDecided: False, leave that alone",
        "slow: 0 of the last 3 calls succeeded: momentum 0.40",
        "complete: no tool call, no question, no next step to take",
    )


def test_c01_c04_c08_c21_c29_it_checks_in_and_goes_on_with_an_answer():
    out = said("fluid_loop")
    in_order(
        out,
        "SanityChecked: True, ['iteration_count'",
        "pause_check: 6 iterations, and a check-in every 6",
        "== check_in: Paused for a check-in after 6 requests",
        "SanityChecked: False, ['tool_failure', ",
        "== sanity_pause: Paused after 5 requests to the model",
        "only 0 of the last 5 calls succeeded",
        "== Signing goes through keyring.py now.",
    )


def test_c03_c06_c26_a_small_window_is_kept_and_the_exchanges_are_summed_up():
    out = said("fluid_loop")
    shrunk = [(int(after), int(before)) for after, before in re.findall(r"^(\d+): (\d+)$", out, re.MULTILINE)]
    assert shrunk
    assert all(after < before for after, before in shrunk), shrunk
    timeline = out.split("== Signing")[1]
    in_order(
        timeline, "user: Make auth.py use signed tokens", "delete(old.py) → ", "delete(user.py) → failed", "user: go on"
    )


def test_d05_d31_d32_an_unclear_task_is_asked_about_and_memory_is_recalled():
    out = said("full_turn")
    in_order(
        out,
        "decision='ask_first'",
        "== What does “it” refer to? [ambiguous: ",
        "Answer the run, and it goes on.",
        "MemoryRecalled(hits=1, trusted=1",
    )


def test_d03_d13_d14_d15_d33_d43_hooks_supervisor_approval_and_sub_agent_do_their_part():
    out = said("full_turn")
    in_order(
        out,
        "AgentStarted(",
        "child='explore'",
        "Supervised(",
        "level='sensitive', by='rules', allowed=True",
        "HookAnswered(stage='pre_tool', name='only_reads', round=2, answer='veto', reason='nothing is dropped here')",
        "ApprovalDecided(",
        "allowed=True",
        "== Ada has her letter. [natural: ",
        "This request is work for a sub-agent (explore): hand it over with the tool spawn",
    )


def test_d24_d25_d27_d30_d44_rounds_are_traced_and_the_turn_is_kept():
    out = said("full_turn")
    rounds = [line for line in out.splitlines() if re.match(r"round \d of ", line)]
    assert len(rounds) == 5
    assert "(spawn, db_query)" in rounds[0]
    assert "(mail), the riskiest confirm" in out
    kept = out.split("\n[]\n")[1]  # nothing is left to do
    for words in ("procedural, ", "semantic, user: I prefer short letters.", "episodic, "):
        assert words in kept
    # Skills hold no values.
    assert "ada@example.org" not in kept


def test_e01_e04_e05_e06_e08_e21_an_answer_is_gathered_for_acted_on_and_verified():
    out = said("grounded_answer")
    in_order(
        out,
        "gather 1, 0.",
        "'files_seen': 2",
        "act 1, 0.",
        "draft 1, verified False: A failed request is tried again up to 3 times. [net.md:3]",
        "verify 1, 0.",
        "'passed': True",
        "[verified after 1 attempts: ",
        "file net.md:3: 'A failed request",
        "Our service is called Heron. [thread#1:1]",
        "thread thread#1:1: 'Our service is called Heron.'",
    )


def test_e02_e18_e20_x02_x04_an_abstention_goes_on_and_an_unverified_answer_says_what_is_wrong():
    out = said("grounded_answer")
    in_order(
        out,
        "I found nothing about `database`",
        "[abstained after 1 attempts: The sources do not hold the answer.",
        "Metrics are on port 9090. [ports.md:3]",
        "draft 3, verified False: ",
        "\n(",  # the best draft
        "[unverified after 3 attempts: I'm sorry: I could not give a verified answer to your question after 3 attempts.",
        "does not hold the number 8081",
        "Could you rephrase the question",
    )


# The page


def titled() -> dict[str, str]:
    """The rows: what each asks for."""
    sections = requirements.titles(requirements.TITLES.read_text(encoding="utf-8"))
    return {key: title for rows in sections.values() for key, title in rows.items() if key != "title"}


def rows() -> dict[str, list[str]]:
    """The cells of each row of the page: what it asks for, where it lives, what was resolved."""
    page = (ROOT / "docs" / "designs.md").read_text(encoding="utf-8")
    found = [
        [cell.strip() for cell in line.strip("|").split(" | ")] for line in page.splitlines() if line.startswith("| ")
    ]
    return {cells[0].strip(): cells[1:] for cells in found if re.fullmatch(r"[A-Z]\d\d", cells[0].strip())}


def test_the_page_has_each_row_and_no_other():
    assert {key: cells[0] for key, cells in rows().items()} == titled()


@pytest.mark.parametrize("key", sorted(titled()))
def test_what_the_page_names_is_there(key):
    cells = rows()[key]
    assert len(cells) == 3, cells
    named = re.findall(r"`([^`]+)`", cells[1])
    assert named, cells
    for each in named:
        assert exists(each), f"{key}: {each}"
    assert set(re.findall(r"\b[A-Z]\d\d\b", cells[2])) <= set(titled())
    assert cells[2].endswith("."), cells


def exists(named: str) -> bool:
    """True of a path, a command, a name of the package or an option of one that is there."""
    if named.startswith("loopwright "):
        return named.split()[1] in importlib.import_module("loopwright.cli.commands").COMMANDS
    if "/" in named:
        return (ROOT / named).exists()
    name, _, option = named.rstrip(")").partition("(")
    found: Any = importlib.import_module("loopwright")
    for part in name.split("."):
        if dataclasses.is_dataclass(found) and part in {field.name for field in dataclasses.fields(found)}:
            found = None
        elif hasattr(found, part):
            found = getattr(found, part)
        elif inspect.ismodule(found) and importlib.util.find_spec(f"{found.__name__}.{part}"):
            found = importlib.import_module(f"{found.__name__}.{part}")
        else:
            return False
    return not option or option.rstrip("=") in inspect.signature(found).parameters
