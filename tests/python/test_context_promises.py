"""Every promise of `loopwright.context`, over generated histories of all three shapes.

One table says what is promised, one check each; every check is run on every shape, and once more against a way of
compressing that breaks just that promise, to show that the check can fail.
"""

from __future__ import annotations

import collections
import copy
import hashlib
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample
from loopwright import Message, UsageError
from loopwright.context import Archive, ContextWindow, compress, estimate
from loopwright.messages import Text, Thinking, ToolResult, ToolUse
from loopwright.tokens import count_tokens

SHAPES = ("canonical", "anthropic", "openai_chat")
MODELS = ("gpt-4o", "gpt-4", "claude-sonnet-4-5", "claude-opus-4-8", "a-model-nobody-knows", None)
EXACT = ("gpt-4o", "gpt-4", None)

# What is said and given, by a kind and a number: quick to draw and easy to make smaller.

BLOBS: list[Callable[[int], str]] = [
    lambda n: f"word {n}",
    lambda n: "",
    lambda n: "x" * (n % 9_000),
    lambda n: "\n".join(f"{('INFO', 'ERROR')[i % 9 == 0]} step {i} of {n}" for i in range(n % 300)),
    lambda n: json.dumps({"rows": [{"id": i, "v": i / 7, "s": "é世界" * (i % 3)} for i in range(n % 200)]}),
    lambda n: json.dumps([{"id": i, "name": f"n{i}"} for i in range(n % 99)], ensure_ascii=False, indent=2),
    lambda n: "".join(chr((0x21 + i * n) % 94 + 0x21) + chr(0x4E00 + i * n % 0x5000) for i in range(n % 400)),
    lambda n: "👩‍👩‍👧é🇳🇴e\u0301ा" * (n % 200),
    lambda n: "\r\n".join(f"line {i}\t{'=' * (i % 70)}>" for i in range(n % 100)),
    lambda n: "".join(f"\r\x1b[32m{i}%\x1b[0m" for i in range(n % 200)) + "\ndone",
    lambda n: "\n".join(f"\x1b[3{i % 8}mcoloured {i}\x1b[0m" * (1 + n % 40) for i in range(n % 30)),
    lambda n: '[of 412 lines: recall("k3f9qab")]\n[=12]\n[…37]',
    lambda n: f"def f_{n % 7}():\n    return {n}\n\nclass A:\n    def g(self): raise ValueError('no')\n" * (n % 60),
    lambda n: "\x00\x01\x02\ufeff\u2028\u2029\u0085" * (n % 50),
    lambda n: f'Traceback (most recent call last):\n  File "/srv/x{n % 3}.py", line 3\nValueError: bad id {n}-ab\n',
    lambda n: " \n\t\n" * (n % 100),
    lambda n: "[Summary of what left the conversation\n- fake",
    lambda n: '{"a":' * (n % 200) + "1" + "}" * (n % 200),
    lambda n: "the same line\n" * (n % 999),
    lambda n: " ".join(f"alpha src/main_{i % 7}.rs {i * n} 0xdeadbeef foo_bar_{n}" for i in range(n % 120)),
    lambda n: "\n".join(f"    let value_{i} = compute({i % 9}, {n % 5}); // as before" for i in range(n % 90)),
    lambda n: "we use tabs, and must never touch tests/; " * (1 + n % 5),
]
blobs = st.tuples(st.integers(0, len(BLOBS) - 1), st.integers(0, 4_000)).map(lambda pair: BLOBS[pair[0]](pair[1]))
words = blobs.filter(lambda text: bool(text.strip()))


@dataclass(frozen=True)
class Exchange:
    """Tool uses and what they gave."""

    names: tuple[str, ...]
    arguments: tuple[dict[str, Any], ...]
    outputs: tuple[str, ...]
    way: str
    said: str
    thought: int


WAYS_LEGAL = ("together", "split", "shuffled", "and words")
WAYS_ILLEGAL = ("no result", "one result less", "no use", "late", "twice", "same id")
ARGUMENTS: list[Callable[[int], dict[str, Any]]] = [
    lambda n: {"path": f"src/f{n % 7}.rs"},
    lambda n: {},
    lambda n: {"command": BLOBS[n % len(BLOBS)](n)},
    lambda n: {"x": [1, {"y": None, "z": n / 7}], "é": "世"},
]


@st.composite
def exchanges(draw: Callable[[Any], Any], *, legal: bool) -> Exchange:
    """One exchange."""
    count = draw(st.sampled_from((1, 1, 1, 2, 4)))
    number = draw(st.integers(0, 999))
    return Exchange(
        tuple(("read", "bash", "write", "a name!")[(number + at) % 4] for at in range(count)),
        tuple(ARGUMENTS[(number // 5 + at) % 4](number + at) for at in range(count)),
        tuple(draw(blobs) for _ in range(count)),
        draw(st.sampled_from(WAYS_LEGAL if legal else (*WAYS_LEGAL, *WAYS_ILLEGAL))),
        draw(blobs) if number % 3 == 0 else "",
        draw(st.integers(0, 60)) if number % 2 else 0,
    )


def parts(*, legal: bool, most: int = 24) -> st.SearchStrategy[list[Any]]:
    """A history, before it has a shape."""
    said = words if legal else blobs
    one = st.one_of(
        st.tuples(st.just("user"), said),
        st.tuples(st.just("said"), said),
        st.tuples(st.just("system"), said),
        exchanges(legal=legal),
        exchanges(legal=legal),
        exchanges(legal=legal),
        exchanges(legal=legal),
    )
    return st.lists(one, max_size=most)


def shaped(history: list[Any], shape: str) -> list[Any]:
    """The history in one of the shapes. It begins with instructions, where the shape has them, and the goal."""
    out: list[Any] = []
    if shape != "anthropic":
        out.append(spoken("system", "Be careful.", shape))
    out.append(spoken("user", "Fix src/main.rs and never touch tests/.", shape))
    for at, part in enumerate(history):
        if isinstance(part, Exchange):
            out.extend(exchange(part, at, shape))
        elif part[0] == "system":
            if shape != "anthropic":
                out.append(spoken("system" if at % 2 else "developer", part[1], shape))
        else:
            out.append(spoken({"user": "user", "said": "assistant"}[part[0]], part[1], shape))
    return out


def spoken(role: str, text: str, shape: str) -> Any:
    return Message(role, (text,)) if shape == "canonical" else {"role": role, "content": text}  # type: ignore[arg-type]


def exchange(part: Exchange, at: int, shape: str) -> list[Any]:
    ids = [f"c{at}_{n}" for n in range(len(part.names))]
    if part.way == "same id":
        ids = ["dup"] * len(ids)
    calls = list(zip(ids, part.names, part.arguments, strict=True))
    results = list(zip(ids, part.names, part.outputs, strict=True))
    if part.way == "no result":
        results = []
    elif part.way == "one result less":
        results = results[1:]
    elif part.way == "twice":
        results = [*results, results[0]]
    elif part.way == "shuffled":
        results = results[::-1]
    used = [] if part.way == "no use" else [asked(part, at, calls, shape)]
    late = [spoken("user", "Wait.", shape)] if part.way == "late" else []
    return [*used, *late, *given_back(part, results, shape)]


def asked(part: Exchange, at: int, calls: list[Any], shape: str) -> Any:
    if shape == "canonical":
        blocks: list[Any] = [Thinking("hm " * part.thought, f"sig{at}")] if part.thought else []
        blocks += [Text(part.said)] if part.said else []
        return Message.assistant(*blocks, *(ToolUse.of(*call) for call in calls))
    if shape == "anthropic":
        content: list[Any] = []
        if part.thought:
            content.append({"type": "thinking", "thinking": "hm " * part.thought, "signature": f"sig{at}"})
        if part.thought % 5 == 4:
            content.append({"type": "redacted_thinking", "data": "R" * 50})
        content += [{"type": "text", "text": part.said}] if part.said.strip() else []
        content += [{"type": "tool_use", "id": id, "name": name, "input": given} for id, name, given in calls]
        content += [{"type": "a_future_block", "weight": 1.5}] if part.thought % 7 == 6 else []
        return {"role": "assistant", "content": content}
    function = [{"name": name, "arguments": json.dumps(given)} for _, name, given in calls]
    if part.thought % 11 == 10:
        function[0]["arguments"] = function[0]["arguments"][:-1]
    uses = [{"id": call[0], "type": "function", "function": f} for call, f in zip(calls, function, strict=True)]
    return {"role": "assistant", "content": part.said or None, "tool_calls": uses}


def given_back(part: Exchange, results: list[Any], shape: str) -> list[Any]:
    split = part.way == "split"
    also = part.way == "and words"
    if not results:
        return []
    if shape == "canonical":
        blocks = [ToolResult(id, name, (Text(text),)) for id, name, text in results]
        if split:
            return [Message.user(block) for block in blocks]
        return [Message.user(*blocks, *([Text("And this.")] if also else []))]
    if shape == "anthropic":
        found: list[Any] = [
            {
                "type": "tool_result",
                "tool_use_id": id,
                "content": [{"type": "text", "text": text}] if n % 2 and text else text,
            }
            for n, (id, _, text) in enumerate(results)
        ]
        if part.thought % 3 == 2:
            found[0]["is_error"] = True
        if split:
            return [{"role": "user", "content": [each]} for each in found]
        return [{"role": "user", "content": [*found, *([{"type": "text", "text": "And this."}] if also else [])]}]
    return [
        *({"role": "tool", "tool_call_id": id, "content": text} for id, _, text in results),
        *([{"role": "user", "content": "And this."}] if also else []),
    ]


def plain(message: Any) -> dict[str, Any]:
    """A message as a dict of its own shape."""
    found: dict[str, Any] = message.to_dict() if isinstance(message, Message) else message
    return found


def written(messages: list[Any]) -> list[str]:
    """The bytes of each message."""
    return [m.to_json() if isinstance(m, Message) else json.dumps(m, ensure_ascii=False) for m in messages]


def blocks_of(message: Any) -> list[dict[str, Any]]:
    """The blocks of a message in any shape; a bare text is one."""
    content = plain(message).get("content")
    if isinstance(content, list):
        return content
    return [{"type": "text", "text": content}] if content else []


def uses_of(message: Any, shape: str) -> list[str]:
    if shape == "openai_chat":
        return [call["id"] for call in message.get("tool_calls") or ()]
    return [block["id"] for block in blocks_of(message) if block["type"] == "tool_use"]


def results_of(message: Any, shape: str) -> list[str]:
    if shape == "openai_chat":
        return [message["tool_call_id"]] if message["role"] == "tool" else []
    found = (block for block in blocks_of(message) if block["type"] == "tool_result")
    return [block["tool_use_id"] if "tool_use_id" in block else block["id"] for block in found]


def role_of(message: Any) -> str:
    return str(plain(message)["role"])


def says(message: Any, shape: str) -> bool:
    """Whether a person speaks in it."""
    if role_of(message) != "user":
        return False
    return shape == "openai_chat" or any(block["type"] != "tool_result" for block in blocks_of(message))


def real(messages: list[Any], model: str | None) -> int:
    """Tokens of the messages by the package's own exact count, or its upper bound."""
    return count_tokens(messages, model=model, upper_bound=True) if messages else 0


@dataclass(frozen=True)
class Case:
    """One history and what is wanted of it; `compress` and `window` are what is under test."""

    shape: str
    parts: list[Any]
    share: float
    more: float
    model: str | None
    pin: int | None
    compress: Callable[..., Any] = compress
    window: Callable[..., Any] = ContextWindow

    @property
    def history(self) -> list[Any]:
        return shaped(self.parts, self.shape)

    def total(self, history: list[Any]) -> int:
        return estimate(history, model=self.model, shape=self.shape)

    def fit(self, history: list[Any], budget: int, **named: Any) -> Any:
        """What comes out, or the error of code `budget_too_small`."""
        policy = {"pin": [self.pin % len(history)]} if self.pin is not None and history else {}
        try:
            return self.compress(
                history, budget, {**policy, **named.pop("policy", {})}, model=self.model, shape=self.shape, **named
            )
        except UsageError as error:
            if error.code != "budget_too_small":
                raise
            return error

    def fitted(self) -> Iterator[tuple[list[Any], int, Any]]:
        """The history, the budget and what came out, where it could be done."""
        history = self.history
        budget = int(self.total(history) * self.share)
        done = self.fit(history, budget)
        if not isinstance(done, UsageError):
            yield history, budget, done


def never_over_budget_or_the_error_says_what_does_not_fit(case: Case) -> None:
    history = case.history
    budget = int(case.total(history) * case.share)
    done = case.fit(history, budget)
    if isinstance(done, UsageError):
        floor = re.search(r"what must stay takes (\d+) tokens and the budget is (\d+)", str(done))
        assert floor, done
        assert int(floor[1]) > int(floor[2]) == budget
        assert re.search(r"message \d+ \(|beside the messages", str(done))
        return
    assert real(done.messages, case.model) <= done.report.after <= budget


def calls_and_results_stay_together_in_an_order_the_provider_takes(case: Case) -> None:
    for history, budget, done in case.fitted():
        legal(done.messages, case.shape)
        # And again in a chain of compactions, with a new exchange behind each.
        chained = done.messages
        for n in range(3):
            new = Exchange(("read",), ({"n": n},), (f"result {n}",), "together", "", 0)
            chained = [*chained, *exchange(new, 900 + n, case.shape)]
            again = case.fit(chained, budget)
            if isinstance(again, UsageError):
                break
            chained = again.messages
            legal(chained, case.shape)
        assert len(done.report.entries) == len(history)


def legal(messages: list[Any], shape: str) -> None:
    """Whether a provider would take the order. Messages of a person in a row are one to it."""
    waiting: set[str] = set()
    seen: set[str] = set()
    words_behind = False
    for at, message in enumerate(messages):
        role, uses, results = role_of(message), uses_of(message, shape), results_of(message, shape)
        if shape == "anthropic":
            assert at > 0 or role == "user", "a model speaks first"
            assert all(block["text"].strip() for block in blocks_of(message) if block["type"] == "text"), "blank text"
            assert blocks_of(message), "an empty message"
        for id in results:
            assert id in waiting, f"message {at}: result {id} has no use before it"
            assert not words_behind, f"message {at}: words stand before result {id}"
            waiting.remove(id)
        if role != "tool" and (not results or role == "assistant"):
            assert not waiting, f"message {at}: {waiting} have no result"
        for id in uses:
            assert id not in seen, f"message {at}: id {id} stands twice"
            assert shape != "anthropic" or re.fullmatch("[a-zA-Z0-9_-]+", id), f"message {at}: id {id}"
            seen.add(id)
            waiting.add(id)
        words_behind = bool(results) and says(message, shape) if role in {"user", "tool"} else False
        if words_behind:
            assert not waiting, f"message {at}: words before {waiting} have results"


def doing_it_twice_does_nothing_more(case: Case) -> None:
    for _, budget, done in replace(case, pin=None).fitted():
        again = case.compress(done.messages, budget, model=case.model, shape=case.shape)
        assert written(again.messages) == written(done.messages)
        assert not again.report.repairs
        assert all(entry.fate == "kept" for entry in again.report.entries)


def the_same_gives_the_same(case: Case) -> None:
    def fit_again(history: list[Any], budget: int, found: list[Any]) -> None:
        found.append(case.fit(copy.deepcopy(history), budget))

    for history, budget, done in case.fitted():
        found: list[Any] = []
        thread = threading.Thread(target=fit_again, args=(history, budget, found))
        thread.start()
        thread.join()
        (other,) = found
        assert written(other.messages) == written(done.messages)
        assert other.report == done.report
        assert other.archive.to_json() == done.archive.to_json()


def requests(case: Case) -> Iterator[tuple[Any, list[Any]]]:
    """A window that a history is appended to, each time that a request would be made of it."""
    history = case.history
    budget = max(60, int(case.total(history) * min(0.9, case.share)))
    window = case.window(budget, case.model, shape=case.shape)
    for at, message in enumerate(history):
        window.append(message)
        follows = role_of(history[at + 1]) if at + 1 < len(history) else "assistant"
        if role_of(message) not in {"user", "tool"} or follows != "assistant":
            continue
        try:
            window.settle()
        except UsageError as error:
            if error.code != "budget_too_small":
                raise
            return
        yield window, history[: at + 1]


def between_compactions_the_prefix_is_the_same_bytes(case: Case) -> None:
    before: list[str] = []
    compactions = 0
    for window, _ in requests(case):
        view = written(window.messages)
        if window.compactions == compactions:
            assert view[: len(before)] == before
        else:
            first = window.report.first_changed
            same = len(before) if first is None else min(first, len(before))
            # What stands before the first changed message is as it was given, and stood so in the view before, up to the
            # summary there: for a new one there may be no room.
            summary = (at for at, message in enumerate(before) if "[Summary of what left the conversation" in message)
            same = min(same, next(summary, same))
            assert view[:same] == before[:same]
        before, compactions = view, window.compactions


def the_first_changed_message_is_the_one_reported(case: Case) -> None:
    for history, _, done in case.fitted():
        first = done.report.first_changed
        same = len(history) if first is None else first
        assert written(done.messages)[:same] == written(history)[:same]
        if first is None:
            assert len(done.messages) == len(history)


def a_compaction_frees_enough_that_the_next_is_far_off(case: Case) -> None:
    # Exchanges of a size that is small beside the budget.
    pieces = [
        Exchange(("read",), ({"n": n},), (f"v_{n} = {n * 37}\n" * (3 + n % 5),), "together", "", 0) for n in range(70)
    ]
    history = shaped(pieces, case.shape)
    budget = 1_600
    window = case.window(budget, case.model, shape=case.shape)
    appended, last, compactions = 0, 0, 0
    for at, message in enumerate(history):
        appended += estimate([message], model=case.model, shape=case.shape)
        window.append(message)
        if not results_of(message, case.shape) or at + 1 == len(history):
            continue
        if window.settle():
            compactions += 1
            assert window.expected <= budget * 0.61
            # Each message is counted here with what comes before an answer, so this is a little more than there was.
            assert compactions == 1 or appended - last >= budget * 0.25 * 0.9
            last = appended
    assert compactions >= 2
    assert window.compactions == compactions <= 1 + appended / (budget * 0.25 * 0.9)


def what_left_comes_back_byte_for_byte(case: Case) -> None:
    for history, _, done in case.fitted():
        saved = Archive.from_json(done.archive.to_json())
        for archive in (done.archive, saved):
            back = done.expand(archive)
            assert written(back) == written(history)


def protected_messages_stay_word_for_word(case: Case) -> None:
    for history, _, done in case.fitted():
        if done.report.repairs:
            continue
        out = written(done.messages)
        spoke = [at for at, message in enumerate(history) if says(message, case.shape)]
        protected = {at for at, message in enumerate(history) if role_of(message) in {"system", "developer"}}
        protected |= {spoke[0]}
        if case.shape == "openai_chat" or not results_of(history[spoke[-1]], case.shape):
            protected |= {spoke[-1]}
        if case.pin is not None:
            protected |= {case.pin % len(history)}
        if uses_of(history[-1], case.shape):
            protected |= {len(history) - 1}
        for at in protected:
            assert written([history[at]])[0] in out, f"message {at} is protected"


def nothing_grows(case: Case) -> None:
    for history, _, done in case.fitted():
        if done.report.repairs:
            continue
        assert done.report.after <= done.report.before == case.total(history)
        assert all(entry.after <= entry.before for entry in done.report.entries)


def texts_of(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from texts_of(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from texts_of(each)


def cuts_fall_between_characters_escapes_and_line_ends(case: Case) -> None:
    half = re.compile(r"\x1b(?:\[[0-9;]*)?(?=[\n…]|$| \[…)|\r(?!\n)")
    for history, _, done in case.fitted():
        given_halves = sum(len(half.findall(text)) for message in history for text in texts_of(plain(message)))
        for message in done.messages:
            for text in texts_of(plain(message)):
                text.encode()
                assert "\ufffd" not in text
                # Marks and joiners never begin what follows a cut.
                assert not re.search(r"(?:…\] |\]\n)[\u0301\u200d\u093e]", text), text[:200]
                if not given_halves:
                    assert not half.search(text), text[:300]


def a_larger_budget_keeps_a_superset(case: Case) -> None:
    for history, budget, few in case.fitted():
        more = budget + int(case.total(history) * case.more)
        many = case.fit(history, more)
        assert not isinstance(many, UsageError), "a larger budget fails where a smaller one does not"
        for one, other in zip(few.report.entries, many.report.entries, strict=True):
            assert one.at is None or other.at is not None, (one, other)
            assert one.after <= other.after, (one, other)
            assert one.fate != "kept" or other.fate == "kept", (one, other)


def a_window_is_what_a_plan_from_scratch_gives(case: Case) -> None:
    case, seen = replace(case, pin=None), 0
    for window, history in requests(case):
        if window.compactions == seen:
            continue
        seen = window.compactions
        saved = ContextWindow.from_json(window.to_json(), case.model, shape=case.shape)
        assert written(saved.messages) == written(window.messages)
        assert saved.expected == window.expected
        report = window.report
        if len(report.entries) == len(history):
            whole = case.fit(history, report.budget)
            assert not isinstance(whole, UsageError)
            assert written(whole.messages) == written(window.messages)
            assert whole.report == report


def facts_stay_or_can_be_recalled(case: Case) -> None:
    for history, _, done in case.fitted():
        here = "\n".join(text for message in done.messages for text in texts_of(plain(message)))
        for message in history:
            for block in blocks_of(message):
                inner = block.get("content") if block["type"] == "tool_result" else block.get("text")
                for text in texts_of(inner):
                    for fact in re.findall(
                        r"(?:src|tests|srv)/[\w.]+|\b\w+_\w+\b|ValueError: [\w -]+|\b\d{3,}\b", text
                    )[:6]:
                        if fact not in here:
                            found = done.archive.recall(find=fact)
                            assert not found.startswith("nothing that left"), f"{fact} is lost"
        goal = "Fix src/main.rs and never touch tests/."
        assert not history or goal in here


def what_the_user_demanded_and_what_was_changed_still_stands(case: Case) -> None:
    demand = "You must never rename the table customer_orders_v2."
    changed = {"path": "src/billing/invoice_writer.rs", "content": "fn main() {}"}
    wrote = Exchange(("write",), (changed,), ("written",), "together", "I decided to use invoice_writer.", 0)
    failed = Exchange(
        ("bash",), ({"command": "cargo test"},), ("error: cannot find value open_error_4711",), "together", "", 0
    )
    pieces = [("user", demand), wrote, *case.parts, ("user", "Go on."), failed]
    case = replace(case, parts=pieces, pin=None)
    for history, budget, done in case.fitted():
        here = "\n".join(text for message in done.messages for text in texts_of(plain(message)))
        # Instructions stay, wherever they stand.
        stays = [message for message in history[1:] if plain(message)["role"] in {"system", "developer"}]
        room = budget - case.total([history[0], *stays])
        assert "open_error_4711" in here, "the open error left"
        # Below that nothing but what must stay fits.
        if budget >= case.total(history) * 0.3 and room > 700:
            assert "customer_orders_v2" in here, "what was demanded left"
            assert "invoice_writer" in here, "the changed file left"


def where_nothing_can_be_gained_nothing_is_done_again(case: Case) -> None:
    # What must stay takes most of the budget.
    text = "must stay " * 300
    head = spoken("user", text, case.shape)
    floor = estimate([head], model=case.model, shape=case.shape)
    window = case.window(int(floor * 1.4), case.model, shape=case.shape)
    window.append(head)
    compactions, requests_made = [], 0
    for n in range(40):
        small = Exchange(("read",), ({"n": n},), (f"line {n}",), "together", "", 0)
        for message in exchange(small, n, case.shape):
            window.append(message)
        before = window.compactions
        window.settle()
        requests_made += 1
        compactions.append(window.compactions > before)
        settled = window.compactions
        # Nothing new: nothing is done.
        assert not window.settle()
        assert window.compactions == settled
    assert sum(compactions) <= requests_made * 0.6, compactions
    assert not any(a and b and c for a, b, c in zip(compactions, compactions[1:], compactions[2:], strict=False))


def reasoning_is_kept_whole_or_dropped_where_that_is_allowed(case: Case) -> None:
    kinds = {"thinking", "redacted_thinking", "a_future_block"}
    for history, _, done in case.fitted():
        counted = lambda messages: collections.Counter(
            json.dumps(block, sort_keys=True) for m in messages for block in blocks_of(m) if block["type"] in kinds
        )
        assert not counted(done.messages) - counted(history), "reasoning is not as it was"
        spoke = max(at for at, message in enumerate(history) if says(message, case.shape))
        standing = {entry.message: entry.at for entry in done.report.entries}
        if done.report.repairs or case.shape == "openai_chat":
            continue
        for at in range(spoke + 1, len(history)):
            place = standing[at]
            if place is not None:
                # Behind the user's last words the provider wants it back.
                assert counted([done.messages[place]]) == counted([history[at]])
        for at, message in enumerate(done.messages):
            if any(block["type"] == "thinking" for block in blocks_of(message)):
                assert len(blocks_of(message)) > 1 or len(blocks_of(history[at])) == 1, "reasoning alone"


def what_is_given_is_never_touched_and_what_stands_is_the_same_object(case: Case) -> None:
    history = case.history
    before = copy.deepcopy(history)
    done = case.fit(history, int(case.total(history) * case.share))
    assert history == before
    if isinstance(done, UsageError):
        return
    standing = {id(message) for message in done.messages}
    for entry in done.report.entries:
        if entry.fate == "kept":
            assert id(history[entry.message]) in standing


def the_report_tells_of_every_message(case: Case) -> None:
    for history, budget, done in case.fitted():
        report = done.report
        assert [entry.message for entry in report.entries] == list(range(len(history)))
        assert report.budget == budget
        assert report.before == case.total(history)
        repaired = {at for at, _ in report.repairs}
        for entry in report.entries:
            assert entry.fate in {"kept", "shortened", "summarised", "referenced", "dropped"}
            assert entry.why
            assert entry.tier in {"focus", "recent", "memory", "project"}
            assert 0 <= entry.salience <= 1
            assert (entry.fate == "kept") == (entry.handle is None)
            assert entry.handle is None or entry.handle in done.archive
            assert (entry.at is None) == (entry.fate in {"summarised", "dropped"}) or entry.message in repaired
        own = sum(entry.after for entry in report.entries)
        placed = {entry.at for entry in report.entries}
        # What was put in, a summary or what a provider would miss, has tokens and no entry; it, and nothing else.
        put_in = case.total([message for at, message in enumerate(done.messages) if at not in placed])
        assert abs(report.after - own - put_in) <= 40, "tokens that no message has"
        assert str(len(report.entries) - 1) in str(report) or not report.entries


def half_as_much_again(messages: Any, budget: int, *rest: Any, **named: Any) -> Any:
    """A way to compress that takes more than it is given."""
    return compress(messages, int(budget * 1.5) + 40, *rest, **named)


def altered(change: Callable[[Any, list[Any]], Any]) -> Callable[..., Any]:
    """A way to compress that does something to what comes out."""

    def broken(messages: Any, budget: int, *rest: Any, **named: Any) -> Any:
        given = list(messages)
        return change(compress(given, budget, *rest, **named), given)

    return broken


def retold(done: Any, **changes: Any) -> Any:
    """The same with another report."""
    names = ("entries", "repairs", "before", "after", "budget", "first_changed")
    told = {name: getattr(done.report, name) for name in names}
    return replace(done, report=SimpleNamespace(**{**told, **changes}))


def entries(done: Any, **changes: Any) -> Any:
    return retold(done, entries=[replace(entry, **changes) for entry in done.report.entries])


state = {"calls": 0}


def another_each_time(done: Any, _: list[Any]) -> Any:
    state["calls"] += 1
    return replace(done, messages=done.messages[: -(state["calls"] % 2) or None])


class Restless(ContextWindow):
    """A window that rewrites itself before each request."""

    __slots__ = ()

    def settle(self) -> bool:
        try:
            self.compact()
        except UsageError:
            return False
        return True


class Sliding(ContextWindow):
    """A window whose view loses its oldest message each time."""

    __slots__ = ()

    @property
    def messages(self) -> list[Any]:
        return super().messages[len(self) // 3 :]


def stripped(done: Any, _: list[Any]) -> Any:
    def one(message: Any) -> Any:
        if isinstance(message, Message):
            kept = [replace(b, text=b.text[:-1]) if isinstance(b, Thinking) else b for b in message.content]
            return replace(message, content=tuple(kept))
        content = message.get("content")
        if not isinstance(content, list):
            return message
        cut = [{**b, "thinking": b["thinking"][:-1]} if b.get("type") == "thinking" else b for b in content]
        return {**message, "content": cut}

    return replace(done, messages=[one(message) for message in done.messages])


def cut_through(done: Any, given: list[Any]) -> Any:
    def one(message: Any) -> Any:
        if isinstance(message, Message) or not isinstance(message.get("content"), str):
            return message
        return {**message, "content": message["content"] + "\x1b["}

    out = [one(message) for message in done.messages]
    if out and isinstance(out[0], Message):
        out[0] = Message(out[0].role, (Text(out[0].text + "\x1b["),))
    return replace(done, messages=out)


def touched(messages: Any, budget: int, *rest: Any, **named: Any) -> Any:
    done = compress(messages, budget, *rest, **named)
    messages.append(messages[0])
    return done


def forgetful(done: Any, given: list[Any]) -> Any:
    return replace(done, archive=Archive(), messages=done.messages[:2] + done.messages[-1:])


PROMISES: dict[Callable[[Case], None], dict[str, Any]] = {
    never_over_budget_or_the_error_says_what_does_not_fit: {"compress": half_as_much_again},
    calls_and_results_stay_together_in_an_order_the_provider_takes: {
        "compress": altered(lambda done, _: replace(done, messages=done.messages[::-1])),
    },
    doing_it_twice_does_nothing_more: {
        "compress": altered(lambda done, _: replace(done, messages=done.messages[:-1])),
    },
    the_same_gives_the_same: {"compress": altered(another_each_time)},
    between_compactions_the_prefix_is_the_same_bytes: {"window": Sliding},
    the_first_changed_message_is_the_one_reported: {
        "compress": altered(lambda done, given: retold(done, first_changed=None)),
    },
    a_compaction_frees_enough_that_the_next_is_far_off: {"window": Restless},
    what_left_comes_back_byte_for_byte: {
        "compress": altered(lambda done, _: replace(done, archive=Archive(), messages=done.messages[::-1])),
    },
    protected_messages_stay_word_for_word: {
        "compress": altered(lambda done, _: replace(done, messages=done.messages[2:])),
    },
    nothing_grows: {"compress": altered(lambda done, _: entries(done, after=10**9))},
    cuts_fall_between_characters_escapes_and_line_ends: {"compress": altered(cut_through)},
    a_larger_budget_keeps_a_superset: {
        "compress": lambda messages, budget, *rest, **named: (
            compress(messages, 10**9 - budget, *rest, **named)
            if budget % 2
            else compress(messages, budget, *rest, **named)
        ),
    },
    a_window_is_what_a_plan_from_scratch_gives: {
        "compress": altered(lambda done, _: replace(done, messages=done.messages[1:])),
    },
    facts_stay_or_can_be_recalled: {"compress": altered(forgetful)},
    what_the_user_demanded_and_what_was_changed_still_stands: {"compress": altered(forgetful)},
    where_nothing_can_be_gained_nothing_is_done_again: {"window": Restless},
    reasoning_is_kept_whole_or_dropped_where_that_is_allowed: {"compress": altered(stripped)},
    what_is_given_is_never_touched_and_what_stands_is_the_same_object: {"compress": touched},
    the_report_tells_of_every_message: {"compress": altered(lambda done, _: entries(done, why=""))},
}


def cases(shape: str) -> st.SearchStrategy[Case]:
    return st.builds(
        Case,
        shape=st.just(shape),
        parts=st.one_of(parts(legal=True), parts(legal=False)),
        share=st.sampled_from((0.0, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 1.0, 1.2)),
        more=st.sampled_from((0.001, 0.01, 0.1, 0.4)),
        model=st.sampled_from(MODELS),
        pin=st.one_of(st.none(), st.none(), st.integers(0, 30)),
    )


EXAMPLES = int(os.environ.get("LOOPWRIGHT_EXAMPLES", "40"))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
def test_c26_promise(promise: Callable[[Case], None], shape: str) -> None:
    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
    @given(case=cases(shape))
    def holds(case: Case) -> None:
        promise(case)

    holds()


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
def test_c26_a_broken_promise_is_found(promise: Callable[[Case], None]) -> None:
    def breaks(case: Case) -> bool:
        try:
            promise(replace(case, **PROMISES[promise]))
        except (AssertionError, UsageError):
            return True
        return False

    quick = settings(max_examples=300, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    shapes = ("canonical", "anthropic") if "reasoning" in promise.__name__ else SHAPES
    for shape in shapes:
        try:
            find(cases(shape), breaks, settings=quick)
        except NoSuchExample:
            pytest.fail(f"{promise.__name__} can't fail on {shape}")


def digests() -> str:
    """One line for a few histories of each shape."""
    found = hashlib.sha256()
    for seed in range(12):
        exchanged = [
            Exchange(
                ("read", "bash"),
                ({"path": f"a{n % 3}.rs"}, {"n": n}),
                (BLOBS[(seed + n) % len(BLOBS)](n * 97), "ok"),
                "together",
                "",
                n % 4,
            )
            for n in range(8)
        ]
        for shape in SHAPES:
            history = shaped([("user", "Do it."), *exchanged], shape)
            budget = estimate(history, shape=shape) // 2
            try:
                done = compress(history, budget, shape=shape)
            except UsageError as error:
                found.update(str(error).encode())
                continue
            found.update("".join(written(done.messages)).encode())
            found.update(done.archive.to_json().encode())
            found.update(str(done.report).encode())
    return found.hexdigest()


def test_c26_promise_the_same_in_every_process() -> None:
    code = "import sys; sys.path.insert(0, sys.argv[1]); import test_context_promises as t; print(t.digests())"
    here = str(Path(__file__).parent)
    lines = {
        subprocess.run(
            [sys.executable, "-c", code, here],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "77", "4242")
    }
    assert lines == {digests() + "\n"}
