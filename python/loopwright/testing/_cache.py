"""A simulator of providers' prompt caches: which tokens of a request would be read from the cache, and what broke it.

It is given the bodies that a provider got, in their order (`WireServer.requests` has them), and applies the provider's
published rules. What a real cache does beyond them (losing entries early, other machines) it does not know.
"""

from __future__ import annotations

import hashlib
import json
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from loopwright import _core
from loopwright._dataclasses import dataclass
from loopwright.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["CacheRules", "CacheUse", "PromptCache"]


@dataclass(frozen=True)
class CacheRules:
    """How a provider caches prompts. Sizes in tokens, times in seconds.

    `marks` is how many breakpoints a request may set; 0 where the provider caches without any. From a mark, `lookback`
    blocks before it are tried. A prefix counts from `minimum` tokens on, in whole `step`s, and is kept for `keep`.
    """

    marks: int
    lookback: int
    minimum: int
    step: int
    keep: float
    source: str


RULES = {
    "anthropic": CacheRules(4, 20, 1024, 1, 300, "platform.claude.com/docs/en/build-with-claude/prompt-caching"),
    "bedrock": CacheRules(4, 20, 1024, 1, 300, "docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html"),
    "openai": CacheRules(0, 0, 1024, 128, 300, "platform.openai.com/docs/guides/prompt-caching"),
    "gemini": CacheRules(0, 0, 1024, 1, 300, "ai.google.dev/gemini-api/docs/caching"),
    "deepseek": CacheRules(0, 0, 64, 64, 3600, "api-docs.deepseek.com/guides/kv_cache"),
}


@dataclass(frozen=True)
class CacheUse:
    """What of one request came from the cache. `hit` and `written` are tokens of `prompt`.

    `why` says what kept the rest out: `new` what stands behind the last request's end, `first` no request before,
    `changed` the block `changed_at` differs from the one that stood there, `expired`, `small`, or `unmarked` where it
    was the same but no breakpoint reached it.
    """

    prompt: int
    hit: int
    written: int
    why: str
    changed_at: str | None = None


class PromptCache:
    """The cache of one provider, empty at first.

    ::

        cache = PromptCache("anthropic")
        for request in server.requests:
            print(cache.see(request["body"]))
        print(cache.share)

    Args:
        provider: `anthropic`, `bedrock` (as it caches for Claude), `openai`, `gemini` or `deepseek`.
        rules: Other rules than those of the provider.
    """

    def __init__(self, provider: str, *, rules: CacheRules | None = None) -> None:
        if rules is None and provider not in RULES:
            message = f"the rules of {provider!r}'s cache are not known"
            raise UsageError(message, "unknown_provider", f"give one of {', '.join(RULES)}, or rules=CacheRules(...)")
        self.rules = rules or RULES[provider]
        self._kept: dict[str, tuple[float, float]] = {}
        self._chains: list[list[str]] = []
        self.uses: list[CacheUse] = []

    @property
    def share(self) -> float:
        """The part of all prompt tokens so far that came from the cache, from 0 to 1."""
        prompt = sum(use.prompt for use in self.uses)
        return sum(use.hit for use in self.uses) / prompt if prompt else 0.0

    def see(self, body: Mapping[str, Any], at: float = 0.0) -> CacheUse:
        """A request comes, `at` seconds on any clock. Too many breakpoints raise `too_many_breakpoints`."""
        rules = self.rules
        blocks = _marked(_blocks(body))
        sizes, chain, marks = _measured(blocks, json.dumps(body.get("model")))
        if rules.marks and body.get("cache_control") and blocks:
            marks.setdefault(len(blocks) - 1, _keep(body["cache_control"], rules))
        if rules.marks and len(marks) > rules.marks:
            message = f"the request sets {len(marks)} cache breakpoints, and {rules.marks} are allowed"
            raise UsageError(message, "too_many_breakpoints", "take some `cache_control` out")
        ends = marks if rules.marks else dict.fromkeys(range(len(blocks)), rules.keep)
        upto = list(accumulate(sizes))
        found = self._found(chain, upto, ends, at)
        hit = 0 if found is None else upto[found] // rules.step * rules.step
        why, where = self._why(blocks, chain, upto, found, at)
        for place, keep in ends.items():
            if upto[place] >= rules.minimum:
                self._kept[chain[place]] = (at + keep, keep)
        self._chains.append(chain)
        last = max((upto[place] for place in ends if upto[place] >= rules.minimum), default=0)
        self.uses.append(CacheUse(upto[-1] if upto else 0, hit, max(0, last - hit), why, where))
        return self.uses[-1]

    def _found(self, chain: list[str], upto: list[int], ends: Mapping[int, float], at: float) -> int | None:
        """The place of the last block that is read from the cache."""
        for end in sorted(ends, reverse=True):
            for place in range(end, max(-1, end - self.rules.lookback - 1), -1):
                until, keep = self._kept.get(chain[place], (-1.0, 0.0))
                if until >= at and upto[place] >= self.rules.minimum:
                    self._kept[chain[place]] = (at + keep, keep)
                    return place
        return None

    def _why(
        self, blocks: list[tuple[str, str, Any]], chain: list[str], upto: list[int], found: int | None, at: float
    ) -> tuple[str, str | None]:
        """What kept the rest out of the cache, against the request before that shares most with this one."""
        if not self._chains:
            return "first", None
        before = max(reversed(self._chains), key=lambda other: _common(chain, other))
        same = _common(chain, before)
        if same < min(len(before), len(chain)):
            return "changed", blocks[same][0]
        if found is not None and found + 1 >= same:
            return "new", None
        if not same or upto[same - 1] < self.rules.minimum:
            return "small", None
        kept = self._kept.get(chain[same - 1])
        return ("expired" if kept is not None and kept[0] < at else "unmarked"), None


def _marked(blocks: Iterator[tuple[str, str | None, Any]]) -> list[tuple[str, str, Any]]:
    """The blocks of a prompt, where one that is a mark alone, as Bedrock's are, marks the one before it."""
    found: list[tuple[str, str, Any]] = []
    for where, text, mark in blocks:
        if text is not None:
            found.append((where, text, mark))
        elif found:
            found[-1] = (*found[-1][:2], mark)
    return found


def _common(one: list[str], other: list[str]) -> int:
    """How many blocks two requests begin with alike."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[middle - 1] == other[middle - 1]:
            low = middle
        else:
            high = middle - 1
    return low


def _measured(blocks: list[tuple[str, str, Any]], model: str) -> tuple[list[int], list[str], dict[int, float]]:
    """The tokens of each block, the digest of all up to it, and the blocks that are breakpoints."""
    sizes, chain, marks = [], [], {}
    digest = hashlib.blake2b(model.encode(), digest_size=16)
    for place, (_, text, mark) in enumerate(blocks):
        digest.update(text.encode())
        sizes.append(_core.count_tokens(text))
        chain.append(digest.copy().hexdigest())
        if mark is not None:
            marks[place] = _keep(mark, RULES["anthropic"])
    return sizes, chain, marks


def _keep(mark: Any, rules: CacheRules) -> float:
    return 3600.0 if isinstance(mark, dict) and mark.get("ttl") == "1h" else rules.keep


def _blocks(body: Mapping[str, Any]) -> Iterator[tuple[str, str | None, Any]]:
    """The blocks of a body in the order in which prompts are built: where, the text, and the mark if one is set."""
    config = body.get("config", body)
    for at, tool in enumerate(config.get("tools") or (config.get("toolConfig") or {}).get("tools") or ()):
        yield _block(f"tools[{at}]", tool)
    for key in ("system", "systemInstruction", "system_instruction", "instructions"):
        yield from _parts(key, "system", body.get(key))
    for key in ("messages", "input", "contents"):
        listed = body.get(key)
        if isinstance(listed, str):
            yield from _parts(key, "user", listed)
            continue
        for at, message in enumerate(listed or ()):
            content = message.get("content", message.get("parts"))
            role = str(message.get("role", ""))
            if content is None or message.get("tool_calls") or message.get("type") not in (None, "message"):
                yield _block(f"{key}[{at}]", message)
            else:
                yield from _parts(f"{key}[{at}].content", role + str(message.get("tool_call_id", "")), content)


def _parts(where: str, role: str, content: Any) -> Iterator[tuple[str, str | None, Any]]:
    if content is None:
        return
    if isinstance(content, dict):
        content = content.get("parts", [content])
    if isinstance(content, str):
        # A text alone and a list of one text are the same prompt.
        content = [{"type": "text", "text": content}]
    for at, part in enumerate(content):
        place, text, mark = _block(f"{where}[{at}]", part)
        yield place, None if text is None else f"{role}: {text}", mark


def _block(where: str, value: Any) -> tuple[str, str | None, Any]:
    if isinstance(value, dict) and value.keys() == {"cachePoint"}:
        return where, None, value["cachePoint"]
    mark = value.get("cache_control") if isinstance(value, dict) else None
    plain = {key: each for key, each in value.items() if key != "cache_control"} if mark is not None else value
    return where, json.dumps(plain, ensure_ascii=False), mark
