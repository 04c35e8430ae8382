"""The page of a run in a browser: nothing of a hostile run is carried out, everything can be reached with the keyboard,
it is readable on narrow screens, and axe finds nothing. Debian's chromium is driven by playwright (`pip install --group
browser`); without either these tests are skipped.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hostile import JOURNALS, PAYLOADS, grounded, poisoned, research, turn
from loopwright import Agent, Budget, Monitor, tool
from loopwright.models import Call, Response
from loopwright.page.site import page_of
from loopwright.testing import ScriptedModel

playwright = pytest.importorskip("playwright.sync_api", reason="playwright, which drives the browser, is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium")
AUDIT = "axe.run().then(found => found.violations.map(each => [each.id, each.nodes.map(node => node.html)]))"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


class Opened:
    """A page, and what the browser said and asked for while it was open."""

    def __init__(self, browser: Any, text: str, folder: Path, **options: Any) -> None:
        path = folder / "page.html"
        path.write_text(text, encoding="utf-8")
        self.said: list[str] = []
        self.page = browser.new_context(**options).new_page()
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: self.said.append(dialog.message))
        self.page.on("request", lambda request: self.asked(request.url))
        self.address = path.as_uri()
        self.page.goto(self.address)

    def asked(self, address: str) -> None:
        if address.partition("#")[0] != self.address:
            self.said.append(f"asked for {address}")

    def unfold(self) -> None:
        """Everything, and what that makes."""
        for _ in range(3):
            self.page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
            self.page.wait_for_timeout(50)


@pytest.mark.parametrize("make", [turn, grounded, research], ids=["turn", "grounded", "research"])
def test_nothing_of_a_hostile_run_is_carried_out(browser: Any, tmp_path: Path, make: Any) -> None:
    result = make(journal=True)
    opened = Opened(browser, page_of(result.journal, against=poisoned(result.journal)), tmp_path)
    opened.unfold()
    for each in opened.page.locator("button:visible").all():
        each.click()
    opened.page.get_by_role("searchbox").fill(PAYLOADS[0])
    opened.page.wait_for_timeout(300)
    opened.unfold()
    assert opened.page.evaluate("window.hit") is None
    assert opened.said == []
    assert opened.page.evaluate("document.querySelectorAll('script').length") == 2
    for tag in ("img", "svg", "iframe", "form", "base", "object", "template", "math"):
        assert opened.page.locator(tag).count() == 0, tag
    links = [each.get_attribute("href") for each in opened.page.locator("a").all()]
    assert all(each.startswith(("https://", "http://")) for each in links), links


def test_the_policy_stops_what_would_be_written_into_the_page(browser: Any, tmp_path: Path) -> None:
    opened = Opened(browser, page_of(JOURNALS / "plain.jsonl"), tmp_path)
    for code in ("document.body.innerHTML = '<b>x</b>'", "document.write('x')"):
        assert opened.page.evaluate(
            f"(() => {{ try {{ {code}; return 'done' }} catch (error) {{ return error.name }} }})()"
        ) in (
            "TypeError",
            "EvalError",
        ), code


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 900, 1400])
def test_axe_finds_nothing_and_nothing_runs_over_the_side(
    browser: Any, tmp_path: Path, width: int, scheme: str
) -> None:
    pytest.importorskip("axe_playwright_python", reason="axe-playwright-python, which holds axe, is not installed")
    axe = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
    shown = (turn(journal=True).journal, JOURNALS / "children_at_once.jsonl", JOURNALS / "compaction_with_summaries.jsonl",
             JOURNALS / "research_with_a_model.jsonl", JOURNALS / "approval_denied_then_other.jsonl")  # fmt: skip
    for journal in shown:
        text = page_of(journal, against=JOURNALS / "plain.jsonl")
        opened = Opened(browser, text, tmp_path, viewport={"width": width, "height": 900}, color_scheme=scheme)
        for unfold in (False, True):
            if unfold:
                opened.unfold()
            opened.page.evaluate(f"{axe};0")
            assert opened.page.evaluate(AUDIT) == []
            root = "document.documentElement"
            assert opened.page.evaluate(f"{root}.scrollWidth <= {root}.clientWidth")


def test_rows_are_reached_searched_and_unfolded_with_the_keyboard(browser: Any, tmp_path: Path) -> None:
    opened = Opened(browser, page_of(JOURNALS / "tools_in_rounds.jsonl"), tmp_path)
    page = opened.page
    focused = "document.activeElement.closest('.row')?.dataset.at ?? document.activeElement.tagName"
    for key, at in (("j", "0"), ("ArrowDown", "1"), ("j", "2"), ("k", "1"), ("ArrowUp", "0"), ("k", "0")):
        page.keyboard.press(key)
        assert page.evaluate(focused) == at, key
    page.keyboard.press("Enter")
    assert page.locator("details.row[open]").count() == 1
    page.keyboard.press("/")
    assert page.evaluate(focused) == "INPUT"
    page.keyboard.type("jk/ nothing like it")
    page.get_by_text("0 rows of").wait_for()
    assert page.locator("details.row").count() == 0
    page.keyboard.press("Escape")
    page.locator("details.row").first.wait_for()
    assert page.evaluate(focused) == "0"


def test_filters_show_the_parts_of_a_kind_and_the_switch_changes_the_colours(browser: Any, tmp_path: Path) -> None:
    opened = Opened(browser, page_of(JOURNALS / "approval_given.jsonl"), tmp_path, color_scheme="light")
    page = opened.page
    page.get_by_role("button", name="approval").click()
    assert {each.inner_text().split()[0] for each in page.locator(".part").all()} == {"approval"}
    colour = "getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(colour)
    page.get_by_role("button", name="Light or dark").click()
    assert page.evaluate(colour) != before
    page.get_by_role("button", name="Light or dark").click()
    assert page.evaluate(colour) == before


def test_a_long_run_is_drawn_as_far_as_it_is_looked_at(browser: Any, tmp_path: Path) -> None:
    @tool(read_only=True)
    def look(query: str) -> str:
        """Looks."""
        return "seen"

    steps = [Response("", [Call("look", {"query": f"thing {n}"})]) for n in range(1000)]
    budget = Budget(rounds=2000, tool_rounds=2000)
    agent = Agent(
        ScriptedModel([*steps, "Done."]), tools=[look], budget=budget, monitor=Monitor(stuck=None, momentum=None)
    )
    opened = Opened(browser, page_of(agent.run_sync("go", journal=True).journal), tmp_path)
    page = opened.page
    assert page.locator("details.row").count() <= 120
    assert page.evaluate("document.querySelectorAll('*').length") < 3_000
    page.get_by_role("searchbox").fill("thing 987")
    page.get_by_text("1 row of").wait_for()
    assert page.locator("details.row").count() == 1
    page.get_by_role("searchbox").fill("")
    page.get_by_text("1,002 rows").wait_for()
    for _ in range(30):
        page.keyboard.press("Escape")
        page.evaluate("scrollTo(0, document.body.scrollHeight)")
        page.wait_for_timeout(30)
    assert page.locator("details.row").count() > 500


def test_what_notebooks_show_runs_nothing(browser: Any, tmp_path: Path) -> None:
    # As a notebook puts it into its page, with no policy at all.
    results = [make() for make in (turn, grounded, research)]
    texts = [thing._repr_html_() for result in results for thing in (result, result.messages)]
    opened = Opened(browser, f"<!doctype html><meta charset=utf-8>{''.join(texts)}", tmp_path)
    opened.unfold()
    for each in opened.page.locator("a[href^='#']").all()[:5]:
        each.click()
    assert opened.page.evaluate("window.hit") is None
    assert opened.said == []
    assert opened.page.locator("script, img, svg, form, base").count() == 0
