"""Any wire to any wire: runs that change their provider in the middle, in front of servers as strict as the providers.

Histories are drawn at random: calls that run at once, pictures of users and of tools, tools that fail, reasoning with
proof, tools that the provider runs, blocks that nobody knows yet. Each request is legal where it goes; what only one
host understands goes to no other, and is there again, byte for byte, when the conversation comes back.
"""

from __future__ import annotations

import base64
import itertools
import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from loopwright import Agent, Budget, Message, Messages, Monitor, ProviderError, ToolError, tool, wire
from loopwright.messages import Document, Image
from loopwright.roles import Role
from loopwright.testing import Reply, WireServer, fault, recorded
from loopwright.tools import ProviderTool
from places import PLACES, PROJECT, Turn, Writer, reply
from ways import run

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
PICTURE = Image.from_bytes(PIXEL, media_type="image/png")
NOTES = Document.from_text("The port is 8080.", name="notes.txt")
PAIRS = [*itertools.product(PLACES, PLACES)]


@pytest.fixture(scope="module", autouse=True)
def clouds() -> Iterator[None]:
    """Nothing of this machine's own clouds but a project."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("AZURE_OPENAI_API_VERSION", "OPENAI_API_VERSION", "AWS_REGION", "VERTEX_BASE_URL"):
            patch.delenv(name, raising=False)
        patch.setenv("GOOGLE_CLOUD_PROJECT", PROJECT)
        yield


@tool(read_only=True)
def look(n: Any = 0) -> str:
    """Looks something up."""
    return f"it is {n}"


@tool(read_only=True)
def show(n: Any = 0) -> Any:
    """Shows a picture."""
    return [f"picture {n}", PICTURE]


@tool(read_only=True)
def see(n: Any = 0) -> Any:
    """Shows a picture without words."""
    return PICTURE


@tool(read_only=True)
def fail(n: Any = 0) -> str:
    """Fails."""
    raise ToolError(f"no {n}", hint="try another one")


@tool(read_only=True)
def nothing(n: Any = 0) -> str:
    """Says nothing."""
    return ""


@tool(read_only=True)
def read(n: Any = 0) -> Any:
    """Reads a page."""
    return ["A page.", NOTES]


TOOLS = [look, show, see, fail, nothing, read]
NAMES = ["look", "show", "see", "fail", "nothing", "read", "look_up.it", "functions.look", "", "天气", "x" * 70]
CALLS = st.tuples(
    st.sampled_from(NAMES),
    st.one_of(st.integers(0, 99).map(lambda n: {"n": n}), st.sampled_from(["[1, 2]", "{broken", ""])),
)
TURNS = st.builds(
    Turn,
    text=st.sampled_from(["", "I look.", "Ä \u2028 𝄞"]),
    thinks=st.booleans(),
    hidden=st.booleans(),
    provider_tool=st.booleans(),
    unknown=st.booleans(),
    calls=st.lists(CALLS, min_size=1, max_size=4).map(tuple),
)
LASTS = st.builds(Turn, text=st.just("Done."), thinks=st.booleans(), provider_tool=st.booleans(), unknown=st.booleans())
STAGES = st.tuples(st.lists(TURNS, min_size=1, max_size=3), LASTS)
PROMPTS = st.sampled_from([("Go on.",), (PICTURE,), ("See.", PICTURE, NOTES), (NOTES, "And this?")])


class Talk:
    """One conversation between several places: what each answered, and what must stand in its requests."""

    def __init__(self, stack: ExitStack, places: dict[str, str], *, streamed: bool, anew: bool = False) -> None:
        self._stack, self.streamed = stack, streamed
        self.places = {side: PLACES[name] for side, name in places.items()}
        self.writers = {side: Writer(name, side, numbers_anew=anew) for side, name in places.items()}
        self.servers: dict[str, WireServer] = {}
        self.proofs: dict[str, list[list[str]]] = {side: [] for side in places}

    def say(self, side: str, turns: list[Turn]) -> list[Reply]:
        said = [reply(self.places[side], self.writers[side].answer(turn), streamed=self.streamed) for turn in turns]
        self.proofs[side] += [proofs for _, proofs in said]
        return [each for each, _ in said]

    def gone(self, side: str, *replies: Reply) -> list[Reply]:
        """Replies that hold no answer."""
        self.proofs[side] += [[] for _ in replies]
        return [*replies]

    def serve(self, side: str, replies: list[Reply]) -> None:
        if side not in self.servers:
            self.servers[side] = self.places[side].server([])
            self._stack.callback(self.servers[side].stop)
        for each in replies:
            self.servers[side].push(each)

    def model(self, side: str, **options: Any) -> Any:
        return self.places[side].at(self.servers[side], **options)

    def agent(self, model: Any, **options: Any) -> Agent[Any, Any]:
        wide = Budget(rounds=40, tool_rounds=40)
        options = {
            "tools": TOOLS,
            "instructions": "Be brief.",
            "budget": wide,
            "monitor": Monitor(stuck=None, momentum=None),
            **options,
        }
        first: Any = model.model if isinstance(model, Role) else model
        first = replace(first, retry={"attempts": 2, "base": 0.001, "cap": 0.002})
        return Agent(replace(model, model=first) if isinstance(model, Role) else first, **options)

    def check(self) -> None:
        """Nothing was refused, nobody was told what is another's, and each has all that it wrote."""
        for side, server in self.servers.items():
            assert [(str(each), each.source) for each in server.refusals] == []
            others = [
                proof for other in self.proofs if other != side for proofs in self.proofs[other] for proof in proofs
            ]
            # As text, to the byte.
            sent = [each["body"] for each in json.loads(server._running.requests())]
            for body in sent:
                assert [proof for proof in others if proof in body] == [], (
                    f"{self.places[side]} is told what is another's"
                )
            lost = [
                proof
                for at, proofs in enumerate(self.proofs[side][:-1])
                for body in sent[at + 1 :]
                for proof in proofs
                if proof not in body
            ]
            assert lost == [], f"{self.places[side]} does not get back what it wrote"


@pytest.mark.parametrize(("here", "there"), PAIRS, ids=[f"{one}-{other}" for one, other in PAIRS])
@pytest.mark.parametrize("hidden", [False, True])
def test_w30_reasoning_without_an_answer_is_legal_at_any_wire(here: str, there: str, *, hidden: bool) -> None:
    """An answer that broke off while the model reasoned, in a history that somebody else has kept."""
    writer = Writer(here, "here")
    thought = wire.decode_response(writer.place.wire, writer.answer(Turn(thinks=True, hidden=hidden)).body).message
    given = [Message.user("Go on."), thought, Message.user("And now?"), thought]
    with ExitStack() as stack:
        talk = Talk(stack, {"there": there}, streamed=False)
        talk.serve("there", talk.say("there", [Turn(text="Done.")]))
        result, _ = run(talk.agent(talk.model("there")), "Well?", "run_sync", messages=given)
        assert result.final == "Done."
        assert [(str(each), each.source) for each in talk.servers["there"].refusals] == []


def way_of(streamed: bool) -> str:
    return "stream" if streamed else "run_sync"


@pytest.mark.parametrize(("here", "there"), PAIRS, ids=[f"{one}-{other}" for one, other in PAIRS])
@settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(
    stages=st.tuples(STAGES, STAGES, STAGES),
    prompts=st.tuples(PROMPTS, PROMPTS, PROMPTS),
    stops=st.booleans(),
    saved=st.booleans(),
    streamed=st.booleans(),
    anew=st.booleans(),
)
def test_w30_a_conversation_goes_over_any_two_wires_and_back(
    here: str, there: str, stages: Any, prompts: Any, *, stops: bool, saved: bool, streamed: bool, anew: bool
) -> None:
    """`stops`: the runs end behind the results of tools, and the next one goes on in the middle."""
    with ExitStack() as stack:
        talk = Talk(stack, {"here": here, "there": there}, streamed=streamed, anew=anew)
        messages: Any = ()
        for side, (turns, last), prompt in zip(["here", "there", "here"], stages, prompts, strict=True):
            final = side == "here" and bool(messages)
            said = turns if stops and not final else [*turns, last]
            talk.serve(side, talk.say(side, said))
            agent = talk.agent(talk.model(side), budget=Budget(rounds=len(said), tool_rounds=40))
            result, _ = run(agent, Message.user(*prompt), way_of(streamed), messages=messages)
            messages = Messages.from_json(result.messages.to_json()) if saved else result.messages
        assert result.final.endswith("Done.")
        talk.check()


@pytest.mark.parametrize(("here", "there"), PAIRS, ids=[f"{one}-{other}" for one, other in PAIRS])
@settings(max_examples=8, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(stages=st.tuples(STAGES, STAGES, STAGES), prompt=PROMPTS, streamed=st.booleans(), anew=st.booleans())
def test_w30_one_run_goes_over_any_two_wires_and_back(
    here: str, there: str, stages: Any, prompt: Any, *, streamed: bool, anew: bool
) -> None:
    """A chain of fallbacks: the first host declines after its calls, the second too, and the first one takes over."""
    gone = recorded(401, "application/json", json.dumps({"error": {"message": "no"}, "message": "no"}))
    with ExitStack() as stack:
        talk = Talk(stack, {"here": here, "there": there}, streamed=streamed, anew=anew)
        (first, _), (second, _), (third, last) = stages
        lost = talk.say("here", first) + talk.gone("here", gone)
        talk.serve("here", lost + talk.say("here", [*third, last]))
        talk.serve("there", talk.say("there", second) + talk.gone("there", gone))
        chain = [Role(talk.model("there")), Role(talk.model("here"))]
        agent = talk.agent(Role(talk.model("here"), fallback=chain))
        result, _ = run(agent, Message.user(*prompt), way_of(streamed))
        assert result.final.endswith("Done.")
        talk.check()


CROSSINGS = st.tuples(st.sampled_from(["fork", "answer"]), st.integers(0, 4), st.booleans())


def cut(journal: Path, back: int) -> int:
    """Cuts a journal as a crash does, `back` events before the one that ended its run, but behind the last answer of a
    model; the number of the event that is now the last.
    """
    # By bytes: texts hold other ends of lines.
    lines = journal.read_bytes().splitlines(keepends=True)
    kinds = [next(iter(json.loads(line)["event"]["kind"])) for line in lines[1:]]
    answered = max(at for at, kind in enumerate(kinds, 1) if kind == "generated")
    last = max(answered, len(kinds) - 1 - back)
    journal.write_bytes(b"".join(lines[: last + 1]))
    return last


class Journals:
    """A run that goes on in other agents: how, and in which journals."""

    def __init__(self, folder: Path, prompt: Message, *, streamed: bool) -> None:
        self._folder, self._prompt, self._known = folder, prompt, set[Path]()
        self._options: dict[str, Any] = {"on_event": lambda _: None} if streamed else {}
        self.latest: Path | None = None

    def go_on(self, agent: Agent[Any, Any], way: str, back: int) -> Any:
        """The result of a run that has ended; nothing of one that its provider broke off."""
        try:
            return self._driven(agent, way, back)
        except ProviderError:
            return None
        finally:
            found = {*self._folder.glob("*.jsonl")}
            (self.latest,) = found - self._known or {self.latest}
            self._known = found

    def _driven(self, agent: Agent[Any, Any], way: str, back: int) -> Any:
        if self.latest is None:
            return agent.run_sync(self._prompt, **self._options)
        if way == "answer":
            return agent.resume_sync(self.latest, answer="And now?", **self._options)
        last = cut(self.latest, back)
        if way == "fork":
            return agent.fork_sync(self.latest, last, **self._options)
        return agent.resume_sync(self.latest, **self._options)


@pytest.mark.parametrize(("here", "there"), PAIRS, ids=[f"{one}-{other}" for one, other in PAIRS])
@settings(max_examples=8, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(
    stages=st.tuples(STAGES, STAGES, STAGES),
    prompt=PROMPTS,
    crossings=st.tuples(CROSSINGS, CROSSINGS),
    streamed=st.booleans(),
    anew=st.booleans(),
)
def test_w30_a_run_goes_on_from_its_journal_over_any_two_wires_and_back(
    here: str, there: str, stages: Any, prompt: Any, crossings: Any, *, streamed: bool, anew: bool
) -> None:
    """A run that broke off, between the results of calls that run at once too, is forked by an agent of another wire; one
    that has ended is answered there. Either may break off once more, and is resumed where it is: a resumed run has the
    model that it began with, and only what begins anew takes on the other agent's.
    """
    with ExitStack() as stack:
        talk = Talk(stack, {"here": here, "there": there}, streamed=streamed, anew=anew)
        folder = Path(stack.enter_context(TemporaryDirectory()))
        journals = Journals(folder, Message.user(*prompt), streamed=streamed)
        ways = [("run", 0, False), *crossings]
        for at, side in enumerate(["here", "there", "here"]):
            (turns, last), (way, back, again) = stages[at], ways[at]
            failures = [fault.status(500)] * 2
            if again:
                talk.serve(side, talk.say(side, turns) + talk.gone(side, *failures))
                assert journals.go_on(talk.agent(talk.model(side), journal=folder), way, back) is None
                way = "resume"
            breaks = at < len(crossings) and crossings[at][0] == "fork"
            said = talk.say(side, turns if breaks else [*turns, last])
            talk.serve(side, said + (talk.gone(side, *failures) if breaks else []))
            result = journals.go_on(talk.agent(talk.model(side), journal=folder), way, back)
            assert (result is None) == breaks
        assert result.final.endswith("Done.")
        assert [server.pending for server in talk.servers.values()] == [0, 0]
        talk.check()


@pytest.mark.parametrize("here", PLACES)
@pytest.mark.parametrize("streamed", [False, True])
def test_w30_what_proves_the_reasoning_of_a_last_answer_comes_back(here: str, *, streamed: bool) -> None:
    turn = Turn(text="Done.", thinks=True, hidden=True, unknown=True)
    with ExitStack() as stack:
        talk = Talk(stack, {"here": here}, streamed=streamed)
        talk.serve("here", talk.say("here", [turn, turn]))
        first, _ = run(talk.agent(talk.model("here")), "Go on.", way_of(streamed))
        run(talk.agent(talk.model("here")), "And now?", way_of(streamed), messages=first.messages)
        assert all(talk.proofs["here"])
        talk.check()


OWN_TOOLS = {
    "anthropic": {"type": "code_execution_20250825", "name": "code_execution"},
    "openai_chat": {"type": "custom", "custom": {"name": "grep"}},
    "openai_responses": {"type": "code_interpreter", "container": {"type": "auto"}},
    "gemini": {"codeExecution": {}},
    "bedrock": {"systemTool": {"name": "nova_code_interpreter"}},
}


@pytest.mark.parametrize(("here", "there"), PAIRS, ids=[f"{one}-{other}" for one, other in PAIRS])
def test_w30_a_providers_own_tool_is_offered_on_its_wire_alone(here: str, there: str) -> None:
    offered: Any = OWN_TOOLS[PLACES[here].wire]
    gone = recorded(401, "application/json", json.dumps({"error": {"message": "no"}, "message": "no"}))
    with ExitStack() as stack:
        talk = Talk(stack, {"here": here, "there": there}, streamed=False)
        turn = Turn(provider_tool=True, calls=(("look", {"n": 1}),))
        talk.serve("here", talk.say("here", [turn]) + talk.gone("here", gone))
        talk.serve("there", talk.say("there", [Turn(text="Done.")]))
        chain = Role(talk.model("here"), fallback=[Role(talk.model("there"))])
        result = talk.agent(chain, tools=[*TOOLS, ProviderTool(offered)]).run_sync("Go on.")
        assert result.final == "Done."
        one, other = (json.dumps([each["body"] for each in server.requests]) for server in talk.servers.values())
        assert json.dumps(offered) in one
        same = PLACES[here].wire == PLACES[there].wire
        assert (json.dumps(offered) in other) == same
        assert any("takes no tool in the form of" in each for each in result.warnings) != same
        talk.check()


BREAKS = {
    "server": fault.status(500),
    "rate": fault.status(429),
    "overload": fault.status(529),
    "cut": fault.cut(after=2),
    "ends": fault.ends(after=2),
    "event": fault.error_event(after=2),
}


@pytest.mark.parametrize("breaks", BREAKS)
@pytest.mark.parametrize("first", PLACES)
def test_w30_a_chain_of_fallbacks_crosses_all_hosts_in_the_middle_of_a_run(first: str, breaks: str) -> None:
    """Each host answers once or twice with calls and then breaks off for good; the last one ends the run."""
    order = [*PLACES][[*PLACES].index(first) :] + [*PLACES][: [*PLACES].index(first)]
    wanted = (("look", {"n": 1}), ("see", {"n": 2}), ("fail", {"n": 3}))
    turn = Turn(text="I look.", thinks=True, hidden=True, provider_tool=True, unknown=True, calls=wanted)
    with ExitStack() as stack:
        talk = Talk(stack, {name: name for name in order}, streamed=True)
        for at, name in enumerate(order):
            said = talk.say(name, [turn] * (1 + at % 2))
            last = name == order[-1]
            talk.serve(name, said + (talk.say(name, [Turn(text="Done.")]) if last else [BREAKS[breaks]] * 2))
        chain = [Role(talk.model(name)) for name in order[1:]]
        agent = talk.agent(Role(talk.model(first), fallback=chain))
        result, _ = run(agent, Message.user("Go on.", PICTURE), "stream")
        assert result.final.endswith("Done.")
        assert [server.pending for server in talk.servers.values()] == [0] * len(order), "each was asked, and broke off"
        answered = sum(1 + at % 2 for at in range(len(order)))
        assert len(result.tool_calls) == answered * len(wanted), "nothing ran twice"
        talk.check()
