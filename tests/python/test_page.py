"""The page of a run, and what notebooks show: complete, without secrets, and text stays text."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import html
import html.parser
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import loopwright
import pytest
from hostile import ALL, JOURNALS, PAYLOADS, SECRET, grounded, look, poisoned, research, turn, unsealed
from loopwright import Agent, Budget, Grounded, Guard, Model, SubAgent, UsageError, tool, wire
from loopwright.cli.main import main
from loopwright.context import compress
from loopwright.grounded import Source
from loopwright.models import Call, Response
from loopwright.page.site import data_of, page_of
from loopwright.testing import ScriptedModel, call, calls
from pydantic import BaseModel

RECORDED = sorted(JOURNALS.glob("*.jsonl"))
PARTS = re.compile(r'(<script type="application/json" id="data">)(.*?)(</script>)', re.DOTALL)
FACTS = {
    "roof": "The roof of the pump house was built in 1950 of slate.",
    "pump": "The pump was built in 1931 by Otto Brand.",
    "lift": "The pump lifts 40 litres a minute.",
}
MADE = {"div", "details", "summary", "table", "thead", "tbody", "tr", "th", "td", "a", "span", "img", "iframe"}


class Seen(html.parser.HTMLParser):
    """The elements of a piece of HTML, their attributes, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words += data


def data_in(page: str) -> dict[str, Any]:
    found = PARTS.search(page)
    assert found is not None
    told: dict[str, Any] = json.loads(found[2])
    return told


def parts(data: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [part for row in data["rows"] for part in row["parts"] if part["kind"] == kind]


# ---- The page.


@pytest.mark.parametrize("journal", RECORDED, ids=lambda path: path.stem)
def test_every_recorded_journal_has_a_page_with_all_its_rounds(journal: Path) -> None:
    data = data_in(page_of(journal))
    rounds = [row for row in data["rows"] if row["kind"] == "round"]
    assert len(rounds) == len(loopwright.journal.trace(journal))
    assert len(parts(data, "call")) == sum(len(each.calls) for each in loopwright.journal.trace(journal))
    ended = loopwright.replay(journal).outcome
    assert ("ended" in dict(data["figures"])) is (ended is not None)


def test_the_page_is_one_file_with_a_policy_that_allows_its_own_script_and_nothing_else() -> None:
    page = page_of(RECORDED[0])
    seen = Seen(page)
    policy = next(tag["content"] for name, tag in seen.tags if tag.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert "require-trusted-types-for 'script'" in policy
    for name, text in {
        "script": page.rpartition("<script>")[2].partition("</script>")[0],
        "style": page.partition("<style>")[2].partition("</style>")[0],
    }.items():
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy
    assert not [tag for _, tag in seen.tags if {"src", "href", "style"} & set(tag)]
    assert "http:" not in page.replace(PARTS.search(page)[2], "")  # type: ignore[index]


def test_the_script_makes_text_of_what_it_is_given() -> None:
    script = (Path(loopwright.__file__).parent / "page" / "page.js").read_text()
    for word in (
        "innerHTML",
        "outerHTML",
        "insertAdjacent",
        "document.write",
        "eval(",
        "Function(",
        "DOMParser",
        "on" + "click =",
    ):
        assert word not in script, word


def test_a_run_is_shown_with_its_lanes_approvals_cache_and_money() -> None:
    @tool(risk="confirm")
    def send(to: str) -> str:
        """Sends."""
        return "sent"

    child = SubAgent("tides", "knows tides", tools=[look], model=ScriptedModel([call("look", query="x"), "At 06:12."]))
    both = [Call("spawn", {"agent": name, "task": "When?"}) for name in ("tides", "roof")]
    steps = [
        Response("", both),
        Response("", [Call("send", {"to": "ada"})], "I should tell Ada.", input_tokens=1000, output_tokens=10),
        "Done.",
    ]
    child2 = SubAgent("roof", "knows roofs", model=ScriptedModel(["Dry."]))
    price = {"input": 3.0, "output": 15.0}
    agents, model = [child, child2], ScriptedModel(steps)
    agent = Agent(Model(model, price=price), tools=[send], agents=agents, guard=lambda _: False)
    data = data_of(agent.run_sync("Tell Ada.", journal=True).journal or "")
    assert data["lanes"][0] == "run"
    assert sorted(data["lanes"][1:]) == ["roof", "tides"]
    titles = [(data["lanes"][row["lane"]], row["title"]) for row in data["rows"] if row["kind"] == "round"]
    assert ("tides", "round 2") in titles
    assert ("run", "round 3") in titles
    asked = next(part for part in parts(data, "call") if part["title"] == "send")
    assert asked["verdict"] == "ask"
    assert "'ada'" in asked["said"]
    assert [part["title"] for part in parts(data, "approval")] == ["A person is asked", "Denied"]
    told = next(row for row in data["rows"] if row.get("thought"))
    assert told["thought"] == "I should tell Ada."
    assert (told["tokens"], told["money"], told["cache"]) == ([1000, 10, 0, 0], "0.00315", "new")


def test_what_the_context_dropped_critiques_searches_and_plans_have_parts() -> None:
    data = data_of(JOURNALS / "compacted_when_due.jsonl")
    smaller = parts(data, "context")[0]
    assert [fate for fate, _ in smaller["pairs"]] == ["kept", "summarised", "dropped"]
    assert ["reason", "full"] in smaller["fields"]
    assert parts(data, "plan")
    grounded = data_of(JOURNALS / "grounded_second_attempt.jsonl")
    assert [(part["said"], part["tone"]) for part in parts(grounded, "critique")] == [
        ("did not pass", "bad"),
        ("passed", "good"),
    ]
    assert grounded["sources"]
    found = data_of(JOURNALS / "research_with_a_model.jsonl")
    assert ["Tides 0", "tides-0"] in parts(found, "search")[0]["pairs"]
    assert "is covered least" in parts(found, "critique")[0]["said"]


def test_two_runs_are_held_against_each_other(tmp_path: Path) -> None:
    for name, query in (("a", "x"), ("b", "y")):
        steps = [call("look", query=query), "Done."]
        Agent(ScriptedModel(steps), tools=[look]).run_sync("go", journal=tmp_path / f"{name}.jsonl")
    data = data_of(tmp_path / "a.jsonl", against=tmp_path / "b.jsonl")
    assert data["other"]["parts"]["seq"] == 2
    assert [same for *_, same in data["other"]["rounds"]] == [False, True]
    same = data_of(tmp_path / "a.jsonl", against=tmp_path / "a.jsonl")
    assert same["other"]["parts"] is None


@pytest.mark.parametrize("make", [turn, grounded, research], ids=["turn", "grounded", "research"])
def test_hostile_texts_stay_inside_the_data(make: Callable[..., Any]) -> None:
    page = page_of(make(journal=True).journal)
    plain = page_of(RECORDED[0])
    assert [tag for tag, _ in Seen(page).tags] == [tag for tag, _ in Seen(plain).tags]
    # All but the data is the same, byte for byte, whatever the run said.
    assert PARTS.sub(r"\1\3", page) == PARTS.sub(r"\1\3", plain)
    inside = PARTS.search(page)
    assert inside is not None
    assert not set("<>&") & set(inside[2])
    assert inside[2].isascii()


def test_a_line_separator_in_a_text_ends_no_line_of_a_journal() -> None:
    result = Agent(ScriptedModel([call("look", query="x"), "one\u2028two\x85three"]), tools=[look]).run_sync(
        "go", journal=True
    )
    assert [each.text for each in result.trace()] == [0, 13]
    assert "one" in data_of(result.journal or "")["rows"][-1]["text"]


def test_secrets_are_on_no_page() -> None:
    page = page_of(turn(journal=True).journal or "")
    assert SECRET not in page
    assert "hunter2hunter2" not in page
    assert "[redacted:github-token]" in page

    @tool(read_only=True)
    def enter(password: str) -> str:
        """Enters."""
        return "inside"

    runs = []
    for password in ("hunter2hunter2", "hunter3hunter3"):
        steps = [Response("", [Call("enter", {"password": password})]), "Done."]
        runs.append(Agent(ScriptedModel(steps), tools=[enter]).run_sync("go", journal=True).journal or "")
    page = page_of(runs[0], against=runs[1])
    assert data_in(page)["other"]["parts"]["both"][0]
    assert not re.search("hunter[23]hunter", page)


@pytest.mark.parametrize("journal", RECORDED, ids=lambda path: path.stem)
def test_journals_that_somebody_wrote_by_hand_are_shown_or_refused_in_words(journal: Path) -> None:
    text = journal.read_text()
    for changed in (poisoned(text), text[: len(text) * 2 // 3], unsealed(text).replace('"run":"', '"run":"<b>', 1)):
        with contextlib.suppress(UsageError):
            assert data_in(page_of(changed))["lanes"][0] == "run"


# ---- The command line.


def test_the_command_line_writes_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journal = str(JOURNALS / "tools_in_rounds.jsonl")
    target = tmp_path / "a page.html"
    assert main(["show", journal, "--html", str(target)]) == 0
    assert target.read_text() == page_of(journal)
    assert main(["show", journal, "--html", "-"]) == 0
    assert capsys.readouterr().out.strip() == page_of(journal).strip()
    assert main(["show", journal]) == 0
    shown = capsys.readouterr().out
    for words in ("round 1", "call ", "ended natural", "look"):
        assert words in shown
    assert main(["show", journal, "--against", str(JOURNALS / "plain.jsonl")]) == 0
    assert "the other parts at event" in capsys.readouterr().out
    assert main(["show", journal, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["lanes"] == ["run"]
    assert main(["show", journal, "--html", str(tmp_path / "no" / "page.html")]) == 2
    assert "can't be written" in capsys.readouterr().err
    assert main(["show", str(tmp_path / "none.jsonl")]) == 2


# ---- In a few words.


class City(BaseModel):
    name: str
    people: int


def test_what_objects_say_of_themselves() -> None:
    @tool(read_only=True, timeout=5)
    def population(city: str) -> int:
        """Counts."""
        return 717710

    model = ScriptedModel([call("population", city="Oslo"), "717,710"])
    result = Agent(model, tools=[population]).run_sync("How many?", journal=True)
    assert repr(result) == "Result(ok, rounds=2, tokens=105, output='717,710')"
    assert repr(result.messages) == (
        "Messages(4: user 'How many?', assistant → population(city='Oslo'), tool '717710', assistant '717,710')"
    )
    assert re.fullmatch(r"Trace\(2 rounds, \d+\.\d s\)", repr(result.trace()))
    assert isinstance(result.trace(), list)
    replayed = f"Replay(identical, run='{result.run_id}', events=4, rounds=2, ended='natural')"
    assert repr(loopwright.replay(result.journal)) == replayed
    assert repr(population) == "Tool(population, read_only=True, timeout=5)"
    assert repr(Budget()) == "Budget()"
    assert repr(Budget(rounds=3, cost=0.5)) == "Budget(rounds=3, cost=0.5)"
    assert eval(repr(Budget(rounds=10))).gives_rounds  # noqa: S307 - our own words
    stopped = Agent(ScriptedModel(["x"] * 3), tools=[look], budget=Budget(rounds=1)).run_sync("go")
    assert repr(stopped).startswith("Result(")
    history = [{"role": "user" if n % 2 else "assistant", "content": "word " * 90} for n in range(9)]
    fitted = compress(history, 500)
    assert re.fullmatch(r"Compressed\(\d+ messages, \d+ -> \d+ tokens of 500\)", repr(fitted))
    assert re.fullmatch(r"Report\(before=\d+, after=\d+, budget=500(, \w+=\d+)+\)", repr(fitted.report))
    request = wire.Request("gpt-5", result.messages, max_tokens=9)
    assert repr(request).startswith("Request('gpt-5', messages=Messages(4: user 'How many?', ")


def test_repr_is_short_has_no_secrets_and_never_fails() -> None:
    for made in (turn(journal=True), grounded(journal=True), research(journal=True)):
        for thing in (made, made.messages, made.trace(), loopwright.replay(made.journal)):
            said = repr(thing)
            assert len(said) < 400
            assert said.count("\n") < 3
            assert SECRET not in said
            assert "\x1b" not in said


# ---- Notebooks.


def shown() -> list[Any]:
    found: list[Any] = []
    for made in (turn(journal=True), grounded(journal=True), research(journal=True)):
        found += [made, made.messages, made.trace(), loopwright.replay(made.journal)]
    history = [{"role": "user" if n % 2 else "assistant", "content": ALL * 9} for n in range(9)]
    fitted = compress(history, 9_000)
    return [*found, fitted, fitted.report]


def test_notebooks_show_text_as_text() -> None:
    for thing in shown():
        text = thing._repr_html_()
        seen = Seen(text)
        assert {name for name, _ in seen.tags} <= MADE
        for name, tag in seen.tags:
            assert not [each for each in tag if each.startswith("on")], tag
            assert tag.keys() <= {"style", "href", "rel", "id", "src", "alt", "srcdoc", "sandbox", "title"}, tag
            assert re.match(r"https?://|#loopwright-", tag.get("href") or "#loopwright-"), tag
            if name == "iframe":
                assert tag["sandbox"] == ""
        assert SECRET not in text
        assert "hunter2hunter2" not in text
        words = thing._repr_markdown_()
        assert SECRET not in words
        assert "hunter2hunter2" not in words
        assert not re.search(r"<[a-zA-Z/!]", words), words
        assert "](" not in words
        assert "```" not in words
        assert not re.search(r"(?<!\\):\s*//", words)


def test_a_result_shows_its_output_its_figures_and_its_calls_folded() -> None:
    steps = [call("look", query="the roof"), '{"name": "Oslo", "people": 717710}']
    result = Agent(ScriptedModel(steps), tools=[look], output_type=City).run_sync("How many?")
    seen = Seen(result._repr_html_())
    assert [name for name, _ in seen.tags if name in ("table", "details")] == ["table", "details", "table"]
    for words in ("Oslo", "717710", "2 rounds", "1 call", "query='the roof'"):
        assert words in seen.words
    assert "| name | Oslo |" in result._repr_markdown_()


def test_an_answer_with_sources_links_to_them() -> None:
    result = grounded()
    seen = Seen(result._repr_html_())
    anchors = {tag["id"] for _, tag in seen.tags if "id" in tag}
    targets = {str(tag["href"]) for name, tag in seen.tags if name == "a"}
    assert anchors
    assert targets
    assert {target.removeprefix("#") for target in targets if target.startswith("#")} <= anchors
    assert "verified" in seen.words
    sources = [Source("file", f"{name}.md", 1, 1, text, 1.0) for name, text in FACTS.items()]
    said = "It was built in 1931 by Otto Brand, as the sources say. [2] It lifts 40 litres a minute in all. [1]"
    plain = Grounded(ScriptedModel([said]), sources=[lambda _: sources]).run_sync(
        "Who built the pump, and what does it lift?"
    )
    (first, second), listed = re.findall(r'href="(#[^"]*)"', text := plain._repr_html_()), plain.sources
    assert [listed[int(each.rpartition("-")[2]) - 1].reference for each in (first, second)] == ["pump.md", "lift.md"], (
        text
    )


def test_messages_show_pictures_and_fold_long_texts() -> None:
    picture = base64.b64encode(b"\x89PNG....").decode()
    block = {"type": "image", "source": {"base64": {"media_type": "image/png", "data": picture}}}
    drawn = {"type": "image", "source": {"base64": {"media_type": "image/svg+xml", "data": picture}}}
    content = [{"type": "text", "text": "long " * 400}, block, drawn]
    seen = Seen(loopwright.Messages([{"role": "user", "content": content}])._repr_html_())
    assert [tag["src"] for name, tag in seen.tags if name == "img"] == [f"data:image/png;base64,{picture}"]
    assert any(name == "details" for name, _ in seen.tags)
    assert "image/svg+xml" in seen.words


def test_a_report_stands_in_a_frame_of_its_own() -> None:
    ((_, tag),) = [each for each in Seen(research()._repr_html_()).tags if each[0] == "iframe"]
    page = tag["srcdoc"] or ""
    assert "default-src 'none'" in page
    assert PAYLOADS[0] not in page


def test_a_run_that_waits_shows_each_call_that_it_waits_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    @tool(risk="confirm")
    def pay(amount: int) -> str:
        """Pays."""
        return f"paid {amount}"

    @tool(deferred=True)
    def paint(wall: str) -> str:
        """Paints."""
        raise NotImplementedError

    def agent(*steps: Any) -> Agent[None, str]:
        inner = Agent(ScriptedModel([call("pay", amount=3)]), tools=[pay], name="clerk", description="Pays.")
        script = ScriptedModel(list(steps))
        return Agent(script, tools=[pay, paint], agents=[inner], guard=Guard(approve="suspend"))

    several = calls(call("pay", amount=1), call("pay", amount=2), call("paint", wall="north"))
    for place, first in (
        (tmp_path / "one.jsonl", several),
        (tmp_path / "runs.db", call("spawn", agent="clerk", task="x")),
    ):
        left = agent(first).run_sync("Do it.", journal=place)
        data = data_of(place, left.run_id)
        waits = [
            (each["kind"], each["call_id"], each["name"], json.loads(each["arguments"])) for each in data["pending"]
        ]
        assert waits == [(each.kind, each.call_id, each.name, each.arguments) for each in left.pending]
        assert dict(data["figures"])["state"] == "waits for an answer"
        assert main(["show", left.run_id, "--journal", str(place)]) == 0
        shown = capsys.readouterr().out
        assert "not ended" not in shown
        assert all(f"[{each.call_id}]" in shown for each in left.pending)
        assert data_in(page_of(place, left.run_id))["message"] == data["message"] != ""
