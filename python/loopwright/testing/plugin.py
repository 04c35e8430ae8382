"""The plugin for pytest: doubles that are checked and closed, cassettes, crashes, and runs in reports of failures.

It is loaded by every run of pytest where the package is installed, so it imports nothing of weight: each fixture does
when a test asks for it.
"""

from __future__ import annotations

import sys
from collections import deque
from typing import TYPE_CHECKING, Any

import pytest

from loopwright import _recent

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from loopwright.result import Result

    from ._cassette import Cassette
    from ._crash import CrashEverywhere
    from ._scripted import ScriptedModel
    from ._wire import Reply, WireServer

_RUNS = 5
"""Runs of a test that a report shows at most: the last ones."""
_FAULTS = (
    "rate_limited",
    "overloaded",
    "server_error",
    "unauthorized",
    "cut",
    "error_event",
    "ends",
    "stalls",
    "hangs",
    "closes",
    "malformed",
    "not_json",
    "empty",
)
_STATUS = {"rate_limited": 429, "overloaded": 529, "server_error": 500, "unauthorized": 401}

_passed = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option that records, and the lines of ini."""
    group = parser.getgroup("loopwright")
    group.addoption(
        "--loopwright-record",
        action="store_true",
        help="ask the real models anew, and write down what they answer (the fixture `cassette`)",
    )
    parser.addini("loopwright_cassettes", "the folder of cassettes; by default `cassettes` beside each file of tests")
    parser.addini("loopwright_no_real_requests", "refuse real requests to models in all tests", type="bool")


def pytest_configure(config: pytest.Config) -> None:
    """Has the last runs kept, and real requests refused where the ini says so."""
    _recent.kept = deque(maxlen=_RUNS)
    if config.getini("loopwright_no_real_requests"):
        config.pluginmanager.register(_Refusing(), "loopwright refusing")


def pytest_unconfigure() -> None:
    """Keeps no runs any more."""
    _recent.kept = None


def pytest_runtest_setup() -> None:
    """The runs of the test before are not this one's, nor is what its servers said: ports are used again."""
    if _recent.kept:
        _recent.kept.clear()
    core = sys.modules.get("loopwright._core")
    if core is not None:
        core.forget_this_machine()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Shows the runs of a test that failed."""
    report = yield
    if call.when == "call":
        item.stash[_passed] = report.passed
    if report.failed and _recent.kept:
        from ._shown import shown

        # Once: what fails at the end of a test that has failed says no more.
        report.sections.append(("runs of loopwright", "\n".join(map(shown, _recent.kept))))
        _recent.kept.clear()
    return report


class _Refusing:
    """Refuses real requests in all tests."""

    @pytest.fixture(autouse=True)
    def _loopwright_no_real_requests(self, no_real_requests: None) -> None:
        """For each test."""


@pytest.fixture
def no_real_requests() -> Iterator[None]:
    """No request of the test goes to a real model, as `loopwright.testing.no_real_requests` says. For all tests by
    `loopwright_no_real_requests = true` in the ini.
    """
    from ._real import no_real_requests

    with no_real_requests():
        yield


@pytest.fixture
def scripted(request: pytest.FixtureRequest) -> Iterator[Callable[..., ScriptedModel]]:
    """Makes `ScriptedModel`s, `scripted([step, ...])`; a test that passes must have asked for every step."""
    from ._scripted import ScriptedModel

    made: list[ScriptedModel] = []

    def make(steps: Any, **options: Any) -> ScriptedModel:
        made.append(ScriptedModel(steps, **options))
        return made[-1]

    yield make
    if request.node.stash.get(_passed, False):
        for model in made:
            model.assert_complete()


@pytest.fixture
def wire_server() -> Iterator[Callable[..., WireServer]]:
    """Starts `WireServer`s, `wire_server([reply, ...])`; all of them are closed at the end of the test."""
    from ._wire import WireServer

    made: list[WireServer] = []

    def make(replies: Any = (), **options: Any) -> WireServer:
        made.append(WireServer(replies, **options).start())
        return made[-1]

    yield make
    for server in made:
        server.stop()


@pytest.fixture(params=_FAULTS)
def faults(request: pytest.FixtureRequest) -> Reply:
    """Every way in which a provider fails, one for each run of the test: a reply for a `WireServer`. Of those that keep
    silent (`stalls`, `hangs`) only the limits of a `Model(timeouts=...)` free the run. `cut`, `ends`, `stalls` and
    `error_event` strike within a stream: where somebody watches the run.
    """
    from ._wire import fault

    kind: str = request.param
    if kind in _STATUS:
        return fault.status(_STATUS[kind], retry_after=0 if kind == "rate_limited" else None)
    reply: Reply = getattr(fault, kind)()
    return reply


@pytest.fixture
def cassette(request: pytest.FixtureRequest) -> Iterator[Cassette]:
    """Answers of a real model, recorded once and played from then on.

    ::

        def test_it(cassette):
            agent = Agent(cassette.model("anthropic:claude-sonnet-4-5"), tools=[stock])
            assert "120" in agent.run_sync("How many bolts?").output

    It is recorded where its file is missing, but not in CI, and anew with `--loopwright-record`. A request that is not
    the recorded one fails the test and says what changed of it.
    """
    from ._cassette import cassette_of

    tape = cassette_of(request)
    with tape:
        yield tape
    tape.close(passed=request.node.stash.get(_passed, False))


@pytest.fixture
def crash_everywhere(tmp_path: Any) -> CrashEverywhere:
    r"""Kills a run in a process of its own at each of its steps, resumes it, and asserts that no effect happened twice.

    ::

        def test_it_pays_once(crash_everywhere):
            def make(folder):
                @tool(risk="safe")
                def pay(amount: int) -> str:
                    "Pays."
                    with (folder / "payments").open("a") as file:
                        file.write(f"{amount}\n")
                    return "paid"

                model = ScriptedModel([call("pay", amount=5), "Done."], by_turn=True)
                return Agent(model, tools=[pay]), "Pay 5."

            print(crash_everywhere(make))
    """
    from ._crash import CrashEverywhere

    return CrashEverywhere(tmp_path / "crashes")


@pytest.fixture
def assert_replays() -> Callable[..., None]:
    """Asserts that the journal of a result, or a journal by its path, store or lines, replays bit for bit."""

    def check(journal: Result[Any] | Any, run: str | None = None) -> None:
        from ._journal import assert_replays

        assert_replays(journal, run)

    return check
