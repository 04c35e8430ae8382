"""The plugin for pytest, as users have it: a folder with tests of its own, and a new process for each run."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import loopwright
import pytest
from loopwright.testing import WireServer, call, fault, text
from loopwright.testing._cassette import Cassette, changes
from loopwright.testing.plugin import _FAULTS, _STATUS

ROOT = Path(__file__).parents[2]
PACKAGE = str(Path(loopwright.__file__).parents[1])
BEGIN = """
from loopwright import Agent, Model, tool
from loopwright.testing import ScriptedModel, call, calls
@tool(risk="safe")
def stock(part: str) -> int:
    "How many of a part there are."
    return 120
"""


class Project:
    """A folder with tests, in which the package is installed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ini("")
        # As an installer writes it, from what the project says.
        said = (ROOT / "pyproject.toml").read_text("utf-8")
        points = re.search(r"^\[project.entry-points.pytest11\]\n(.*?)^$", said, re.MULTILINE | re.DOTALL)
        assert points is not None
        site = folder / "site" / "loopwright_here-1.dist-info"
        site.mkdir(parents=True)
        (site / "METADATA").write_text("Metadata-Version: 2.1\nName: loopwright-here\nVersion: 1\n")
        lines = [line.replace('"', "") for line in points[1].splitlines() if not line.startswith("#")]
        (site / "entry_points.txt").write_text("[pytest11]\n" + "\n".join(lines) + "\n")

    def ini(self, lines: str) -> None:
        (self.folder / "pytest.ini").write_text(f"[pytest]\nfilterwarnings = error\n{lines}\n")

    def run(self, code: str, *arguments: str, **environment: str) -> str:
        """Runs tests; the last line says how many passed."""
        tests = self.folder / "tests"
        tests.mkdir(exist_ok=True)
        (tests / "test_it.py").write_text(BEGIN + code)
        path = os.pathsep.join([str(self.folder / "site"), PACKAGE])
        kept = {name: value for name, value in os.environ.items() if name not in ("CI", "PYTEST_ADDOPTS")}
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
            cwd=self.folder,
            env={**kept, "PYTHONPATH": path, **environment},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode in (0, 1), done.stdout + done.stderr
        return done.stdout


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def last(said: str) -> str:
    return re.sub(r" in [\d.]+s.*", "", said.strip().splitlines()[-1])


# ---- what it costs ----


def test_a_server_does_not_answer_for_the_one_whose_port_it_has(tmp_path: Path) -> None:
    code = """
import json
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
import pytest
from loopwright import LoopwrightError

ports = [0]
SAID = {"role": "assistant", "content": "Hello."}
GOOD = {"id": "a", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "message": SAID, "finish_reason": "stop"}]}

def asked(status, body):
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["content-length"]))
            text = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(text)))
            self.send_header("connection", "close")
            if status == 429:
                self.send_header("retry-after", "3600")
            self.end_headers()
            self.wfile.write(text)
        def log_message(self, *_):
            pass
    with HTTPServer(("127.0.0.1", ports[0]), Handler) as server:
        ports[0] = server.server_port
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            url = f"http://127.0.0.1:{ports[0]}/v1"
            model = Model("openai-chat:test", base_url=url, api_key="k", retry={"attempts": 1})
            return Agent(model).run_sync("Hi.").output
        finally:
            server.shutdown()

def test_one_is_refused_for_an_hour():
    for _ in range(2):
        with pytest.raises(LoopwrightError) as caught:
            asked(429, {"error": {"message": "too many"}})
    assert "nothing was sent" in str(caught.value)

def test_the_next_one_is_asked_at_the_same_port():
    assert asked(200, GOOD) == "Hello."
"""
    assert "2 passed" in Project(tmp_path).run(code)


def test_the_plugin_alone_loads_next_to_nothing():
    code = (
        "import sys, pytest; before = set(sys.modules); import loopwright.testing.plugin\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert set(done.stdout.split()) == {
        "loopwright",
        "loopwright._recent",
        "loopwright.testing",
        "loopwright.testing.plugin",
    }


def test_tests_of_others_load_nothing_of_the_package(project):
    code = """
import sys
def test_nothing():
    assert "loopwright._core" not in sys.modules
    assert "loopwright.testing.plugin" in sys.modules
"""
    tests = project.folder / "tests"
    tests.mkdir()
    (tests / "test_it.py").write_text(code)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(project.folder / "site"), PACKAGE])}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q"],
        cwd=project.folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout


# ---- doubles ----


def test_scripts_must_be_used_up_where_a_test_passes(project):
    said = project.run("""
def test_all(scripted):
    model = scripted([call("stock", part="bolts"), "120"], piece=2)
    assert Agent(model, tools=[stock]).run_sync("x").final == "120"
def test_left(scripted):
    Agent(scripted(["a", "b"])).run_sync("x")
def test_fails_by_itself(scripted):
    scripted(["a"])
    assert 1 == 2
""")
    assert last(said) == "1 failed, 2 passed, 1 error"
    assert "1 of 2 replies were not asked for: ['b']" in said


def test_servers_are_closed_at_the_end(project):
    said = project.run("""
made = []
def test_asks(wire_server):
    server = wire_server(["hi"], by_turn=True)
    made.append(server)
    model = Model("anthropic:any", base_url=server.url, api_key="k")
    assert Agent(model).run_sync("x").final == "hi"
def test_closed():
    import socket, pytest
    host, port = made[0].url.removeprefix("http://").split(":")
    with pytest.raises(OSError):
        socket.create_connection((host, int(port)), timeout=5)
""")
    assert last(said) == "2 passed"


def test_every_fault_is_tried(project):
    names = {name for name in vars(fault) if not name.startswith("_")}
    assert set(_FAULTS) - set(_STATUS) == names - {"status"}
    said = project.run("""
import pytest
from loopwright import LoopwrightError
def test_it_survives(faults, wire_server):
    server = wire_server([faults, "well"])
    limits = {"first_byte": 2.0, "idle": 2.0, "total": 6.0}
    model = Model("anthropic:any", base_url=server.url, api_key="k", timeouts=limits, retry={"base": 0.01})
    try:
        assert Agent(model).run_sync("x", on_event=lambda _: None).final == "well"
    except LoopwrightError as error:
        assert error.code == "auth"
""")
    assert last(said) == f"{len(_FAULTS)} passed", said


# ---- no real requests ----


REAL = """
import pytest
def test_real():
    Agent(Model("anthropic:any", api_key="k", retry={"attempts": 1})).run_sync("x")
"""


def test_a_line_of_ini_refuses_real_requests_in_all_tests(project):
    project.ini("loopwright_no_real_requests = true")
    said = project.run(REAL, HTTPS_PROXY="http://127.0.0.1:9")
    assert "would have sent a real request to api.anthropic.com:443" in said
    project.ini("")
    said = project.run(REAL, HTTPS_PROXY="http://127.0.0.1:9")
    assert "would have sent" not in said
    said = project.run(REAL.replace("def test_real()", "def test_real(no_real_requests)"))
    assert "would have sent a real request to api.anthropic.com:443" in said


# ---- runs in reports ----


def test_a_failure_shows_the_runs_of_its_test_without_secrets(project):
    secret = "ghp_" + "x9K2mQ7vLp4RzT8wB3" + "nYc6HdF1sJg5UeA0Xo"
    said = project.run(f"""
def test_before():
    Agent(ScriptedModel(["not shown"])).run_sync("x")
def test_fails():
    model = ScriptedModel([call("stock", part="bolts"), "120, says {secret}" + " and more" * 40])
    Agent(model, tools=[stock]).run_sync("How many bolts?")
    Agent(ScriptedModel(["second"])).run_sync("x")
    assert False
def test_raises():
    Agent(ScriptedModel([])).run_sync("Anybody?")
""")
    assert last(said) == "2 failed, 1 passed"
    section = said.split("runs of loopwright")[1].split("____")[0]
    assert re.search(r"run \w{16}: 2 rounds, \d+ tokens, natural", section)
    assert re.search(r"^  user +How many bolts\?$", section, re.MULTILINE)
    assert "assistant  stock(part='bolts')" in section
    assert re.search(r"^  tool +120$", section, re.MULTILINE)
    assert re.search(r"^  assistant  second$", section, re.MULTILINE)
    shown = [line for line in section.splitlines() if "120, says" in line]
    assert len(shown) == 1
    assert shown[0].endswith("…")
    assert secret not in said.replace(f'says {secret}" + ', "")
    assert "not shown" not in section
    assert "Anybody?" in said.split("runs of loopwright")[2]


def test_a_failure_without_a_run_shows_none(project):
    said = project.run("def test_fails():\n    assert False\n")
    assert "runs of loopwright" not in said


# ---- crashes ----


CRASH = """
def make(folder):
    @tool(risk="safe"{more})
    def pay(amount: int) -> str:
        "Pays."
        with (folder / "payments").open("a") as file:
            file.write(f"{{amount}}\\n")
        return "paid"
    model = ScriptedModel([call("pay", amount=5), calls(call("pay", amount=6), call("pay", amount=7)), "Done."], by_turn={turns})
    return Agent(model, tools=[pay]), "Pay."
def test_once(crash_everywhere):
    report = crash_everywhere(make{how})
    print(report)
    assert report.effects == {effects}
    assert len(report.points) == 9 and report.ok
    assert report.points[0].where == "after step 1"
"""


def test_no_effect_happens_twice_wherever_a_run_is_killed(project):
    said = project.run(CRASH.format(more="", turns=True, how="", effects=["5", "6", "7"]), "-s")
    assert last(said) == "1 passed", said
    assert "9 points, 3 effects, 0 wrong" in said
    assert "ok     at the end of call 3: natural" in said


def test_an_effect_that_happens_twice_fails_and_says_where(project):
    # A tool that says it may run again, and may not.
    said = project.run(CRASH.format(more=", idempotent=True", turns=True, how="", effects=["5", "6", "7"]))
    assert last(said) == "1 failed", said
    assert "WRONG  at the end of call 1: natural; 1 twice: 5" in said


def test_a_double_that_goes_by_no_history_is_told_so(project):
    said = project.run(CRASH.format(more="", turns=False, how="", effects=[]))
    assert last(said) == "1 failed", said
    assert "goes by the history: ScriptedModel(..., by_turn=True)" in said


def test_effects_are_told_in_ones_own_way(project):
    how = ", effects=lambda folder: [path.name for path in folder.iterdir()]"
    said = project.run(CRASH.format(more="", turns=True, how=how, effects=["payments"]))
    assert last(said) == "1 passed", said


def test_journals_replay_or_the_test_fails(project):
    said = project.run("""
import json, pytest
from loopwright import Journal
def test_it(assert_replays, tmp_path):
    result = Agent(ScriptedModel(["a"])).run_sync("x", journal=True)
    assert_replays(result)
    assert_replays(result.journal)
    kept = Agent(ScriptedModel(["a"])).run_sync("x", journal=tmp_path / "run.jsonl")
    assert_replays(kept)
    assert_replays(tmp_path / "run.jsonl")
    store = Journal(tmp_path / "runs.db")
    for _ in range(2):
        stored = Agent(ScriptedModel(["a"])).run_sync("x", journal=store)
        assert_replays(stored)
    assert_replays(store, stored.run_id)
    (tmp_path / "run.jsonl").write_text((tmp_path / "run.jsonl").read_text().replace("end_turn", "max_tokens"))
    with pytest.raises(AssertionError, match="does not replay"):
        assert_replays(tmp_path / "run.jsonl")
""")
    assert last(said) == "1 passed", said


# ---- cassettes ----


TAPE = """
def test_bolts(cassette):
    model = cassette.model("{model}", base_url="{url}", api_key="{key}")
    result = Agent(model, tools=[stock]).run_sync("{prompt}"{watched})
    assert result.final == "There are 120."
    print("PLAYED", cassette.played)
"""
KEY = "sk-ant-" + "q8Zr2Lm5Xt7Bw9Kd" * 3


@pytest.mark.parametrize("watched", ["", ", on_event=lambda _: None"])
@pytest.mark.parametrize("model", ["anthropic:any", "openai-chat:any", "gemini:any"])
def test_an_exchange_is_recorded_once_and_played_from_then_on(project, model, watched):
    with WireServer([call("stock", part="bolts"), text("There are 120.")], key=KEY) as real:
        code = TAPE.format(model=model, url=real.url, key=KEY, prompt="Bolts?", watched=watched)
        assert last(project.run(code)) == "1 passed"
        assert len(real.requests) == 2
        # In CI, from the file alone, and where no real request may be sent.
        project.ini("loopwright_no_real_requests = true")
        said = project.run(code, "-s", CI="true")
        assert last(said) == "1 passed", said
        assert "PLAYED 2" in said
        assert len(real.requests) == 2
    path = project.folder / "tests" / "cassettes" / "test_it.test_bolts.json"
    written = path.read_text("utf-8")
    assert KEY not in written
    assert KEY[:12] not in written
    kept = json.loads(written)
    assert [exchange["response"]["status"] for exchange in kept["exchanges"]] == [200, 200]
    assert all("headers" not in part for exchange in kept["exchanges"] for part in exchange.values())


def test_a_cassette_takes_a_model_with_its_place_and_its_options(project):
    with WireServer([call("stock", part="bolts"), text("There are 120.")], key=KEY) as real:
        made = f'Model("anthropic:any", base_url="{real.url}", api_key="{KEY}", settings={{"temperature": 0.5}})'
        code = TAPE.format(model="", url="", key="", prompt="Bolts?", watched="").replace(
            'cassette.model("", base_url="", api_key="")', f"cassette.model({made})"
        )
        assert last(project.run(code)) == "1 passed"
        assert last(project.run(code)) == "1 passed"
        assert [request["body"]["temperature"] for request in real.requests] == [0.5, 0.5]
    said = project.run(code.replace(f"cassette.model({made})", "cassette.model(ScriptedModel([]))"))
    assert "a cassette holds answers of providers, not those of ScriptedModel" in said


def test_a_recording_that_reaches_nobody_is_said_once_with_its_file(project):
    with WireServer() as gone:
        url = gone.url
    code = TAPE.format(model="anthropic:any", url=url, key=KEY, prompt="x", watched="")
    said = project.run(code.replace(', api_key="', ', retry={"base": 0.01}, api_key="'))
    assert "test_it.test_bolts.json is to be recorded, and" in said
    assert said.split("ERROR at teardown")[1].count("could not be asked") == 2  # there and in the summary
    assert not (project.folder / "tests" / "cassettes").exists()


def test_a_request_that_changed_fails_and_says_how(project):
    with WireServer([call("stock", part="bolts"), text("There are 120.")] * 2) as real:
        given = {"model": "anthropic:any", "url": real.url, "key": KEY, "watched": ""}
        project.run(TAPE.format(prompt="Bolts?", **given))
        changed = TAPE.format(prompt="Nuts?", **given)
        said = project.run(changed)
        assert "request 1 is not the one of" in said
        assert '"Bolts?" became "Nuts?"' in said
        assert "body.messages[0].content" in said
        assert "pytest --loopwright-record" in said
        assert len(real.requests) == 2
        assert last(project.run(changed, "--loopwright-record")) == "1 passed"
        assert len(real.requests) == 4
        assert last(project.run(changed)) == "1 passed"


def test_members_may_be_passed_over(project):
    with WireServer([call("stock", part="bolts"), text("There are 120.")]) as real:
        given = {"model": "anthropic:any", "url": real.url, "key": KEY, "watched": ""}
        project.run(TAPE.format(prompt="Bolts?", **given))
    code = TAPE.format(prompt="Nuts?", **given).replace(
        "    model =", "    cassette.ignore.add('messages')\n    model ="
    )
    assert last(project.run(code)) == "1 passed"


def test_ci_records_nothing(project):
    code = TAPE.format(model="anthropic:any", url="http://127.0.0.1:9", key=KEY, prompt="x", watched="")
    said = project.run(code, CI="true")
    assert "CI records none: run pytest on your machine" in said
    assert not (project.folder / "tests" / "cassettes").exists()


def test_a_test_that_fails_records_nothing(project):
    with WireServer(["Something else."]) as real:
        code = TAPE.format(model="anthropic:any", url=real.url, key=KEY, prompt="x", watched="")
        assert "1 failed" in last(project.run(code))
    assert not (project.folder / "tests" / "cassettes").exists()


def test_exchanges_that_nobody_asked_for_and_those_beyond_are_said(project):
    replies = [call("stock", part="bolts"), text("There are 120.")]
    with WireServer(replies) as real:
        given = {"model": "anthropic:any", "url": real.url, "key": KEY, "watched": "", "prompt": "x"}
        project.run(TAPE.format(**given))
    once_more = TAPE.format(**given) + '    Agent(model).run_sync("once more")\n'
    said = project.run(once_more)
    assert "request 3 is one more than" in said
    path = project.folder / "tests" / "cassettes" / "test_it.test_bolts.json"
    kept = json.loads(path.read_text("utf-8"))
    kept["exchanges"].append(kept["exchanges"][-1])
    path.write_text(json.dumps(kept))
    assert "1 of 3 exchanges of" in project.run(TAPE.format(**given))
    path.write_text("{}")
    assert "is no cassette" in project.run(TAPE.format(**given))


def test_the_folder_of_cassettes_is_a_line_of_ini(project):
    project.ini("loopwright_cassettes = data/tapes")
    with WireServer([call("stock", part="bolts"), text("There are 120.")]) as real:
        code = TAPE.format(model="anthropic:any", url=real.url, key=KEY, prompt="x", watched="")
        assert last(project.run(code)) == "1 passed"
    assert (project.folder / "data" / "tapes" / "test_it.test_bolts.json").exists()


def test_a_provider_whose_address_nobody_knows_is_said(tmp_path):
    with Cassette(tmp_path / "x.json", recording=True) as tape, pytest.raises(loopwright.UsageError) as raised:
        tape.model("azure:any")
    assert raised.value.code == "unknown_provider"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 2}, ["  a: 1 became 2"]),
        ({"a": 1}, {"a": True}, ["  a: 1 became true"]),
        ({"a": 1}, {"b": 1}, ["  a: 1 is gone", "  b: 1 is new"]),
        ({"a": [1, {"b": "x"}]}, {"a": [1, {"b": "y"}, 3]}, ['  a[1].b: "x" became "y"', "  a[2]: 3 is new"]),
        ({"a": [1, 2]}, {"a": [1]}, ["  a[1]: 2 is gone"]),
        ({"a": None}, {}, ["  a: null is gone"]),
    ],
)
def test_changes_are_said_member_by_member(old: Any, new: Any, said: list[str]):
    assert changes(old, new) == said
    assert changes(old, new, {"a", "b"}) == []


def test_many_changes_are_counted():
    found = changes({str(n): 0 for n in range(30)}, {str(n): 1 for n in range(30)})
    assert len(found) == 13
    assert found[-1] == "... and 18 more"
