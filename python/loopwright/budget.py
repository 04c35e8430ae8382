"""What a run may use at most."""

from __future__ import annotations

import json
from typing import Any, Literal

from . import _core
from ._dataclasses import dataclass, replace
from ._renamed import renamed
from ._repr import given_repr
from ._words import only_options
from .errors import UsageError

__all__ = ["Budget", "Complexity"]

Complexity = Literal["simple", "moderate", "complex", "breaking"]


class _Usual(int):
    """A limit that nobody gave: what is judged of a task may take its place."""


_USUAL_ROUNDS = _Usual(10)
_NO_COUNT = 1_000_000_000
LEAST_OF_CHILD = 2
"""Requests that a sub-agent gets at least: one to call tools with, one to report in."""


@renamed(iterations="rounds")
@only_options(
    **dict.fromkeys(("max_turns", "max_rounds", "max_iterations", "max_steps", "request_limit", "requests"), "rounds"),
    **dict.fromkeys(("max_tokens", "total_tokens", "total_tokens_limit", "token_limit"), "tokens"),
    **dict.fromkeys(("timeout", "time", "seconds", "max_time"), "wall_time"),
    **dict.fromkeys(("max_cost", "money", "usd"), "cost"),
    tool_calls_limit="tool_rounds, or calls_per_round",
)
@dataclass(frozen=True, repr=False)
class Budget:
    """What a run may use at most. The first limit that is reached ends the run with a reason of its own.

    Attempts at a verified answer share the rounds: three attempts of ten can't become thirty. Counts end ordinary work
    too; where that is not wanted, `Budget.by_progress()`.
    """

    tool_rounds: int | None = 8
    """Rounds of tool calls; `None` for any number."""
    rounds: int | Literal["auto"] | None = _USUAL_ROUNDS
    """Requests to the model, one a round; `None` for any number. `"auto"`: by the words of each prompt (`for_task`)."""
    verify_attempts: int = 3
    """Attempts at a verified answer."""
    research_cycles: int = 5
    """Cycles of a research."""
    approvals: int | None = 20
    """Questions to a person; `None` for any number."""
    wall_time: float | None = 300.0
    """Seconds; `None` for any time."""
    tokens: int | None = None
    """Tokens of all prompts and answers."""
    cost: float | None = None
    """Money, in the currency of the prices."""
    calls_per_round: int = 128
    """Calls of one answer that run. Each call behind them is answered with the reason, and the model may make it
    again."""
    children: int = 8
    """Sub-agents that one run may start."""
    depth: int = 1
    """How deep they may nest: at 1 a sub-agent starts none itself."""

    def __repr__(self) -> str:
        return given_repr(self)

    def __post_init__(self) -> None:
        if isinstance(self.rounds, str) and self.rounds != "auto":
            message = f"rounds can't be {self.rounds!r:.100}"
            raise UsageError(message, "invalid_budget", "give a whole number, or 'auto': by the words of each prompt")
        try:
            limits = json.dumps({"budget": self._config(), "children": self._of_children()})
        except (TypeError, ValueError) as error:
            raise UsageError(f"the budget can't be: {error}", "invalid_budget", "give numbers") from None
        _core.check_options(limits)

    def _config(self) -> dict[str, Any]:
        """As the machine wants it."""
        limits = {name: value for name, value in vars(self).items() if name not in ("children", "depth")}
        rounds = limits.pop("rounds")
        limits["iterations"] = _USUAL_ROUNDS if rounds == "auto" else rounds
        for name in ("approvals", "iterations", "tool_rounds", "wall_time"):
            if limits[name] is None:
                limits[name] = _NO_COUNT
        return limits

    def _of_children(self) -> dict[str, int]:
        """What the machine wants to know of sub-agents."""
        return {"most": self.children, "depth": self.depth, "least": LEAST_OF_CHILD}

    @property
    def gives_rounds(self) -> bool:
        """Whether somebody said how many rounds there may be."""
        return not isinstance(self.rounds, (_Usual, str))

    def but(self, **limits: Any) -> Budget:
        """The same with other limits.

        >>> Budget(tokens=5_000).but(cost=0.5)
        Budget(tokens=5000, cost=0.5)
        """
        return replace(self, **limits)

    def less(self, **used: float) -> Budget:
        """What is left of it: each limit less what was used, and no less than nothing. What has no limit has none left.

        >>> Budget.by_progress(tokens=5_000).less(rounds=3, tokens=1_200)
        Budget(tool_rounds=None, rounds=None, approvals=None, wall_time=3600.0, tokens=3800)
        """
        limits = {name: getattr(self, name) for name in used}
        return replace(
            self, **{name: max(0, limit - used[name]) for name, limit in limits.items() if limit is not None}
        )

    @classmethod
    def by_progress(cls, **limits: Any) -> Budget:
        """A budget that counts no rounds: the run ends where it makes no progress any more, as its `Monitor` finds, or
        at its time, its tokens or its money. An hour and a million tokens, unless said.

        >>> Budget.by_progress(cost=2.0).cost
        2.0
        """
        usual = cls(rounds=None, tool_rounds=None, approvals=None, wall_time=3_600.0, tokens=1_000_000)
        return replace(usual, **limits)

    @classmethod
    def for_complexity(cls, complexity: Complexity, **limits: Any) -> Budget:
        """A budget with the rounds for a task like this: simple 3, moderate 5, complex 10, breaking 15."""
        rounds = dict(_core.complexities())
        if complexity not in rounds:
            message = f"{complexity!r} is no complexity"
            raise UsageError(message, "invalid_budget", f"use one of {', '.join(rounds)}")
        return replace(cls(rounds=rounds[complexity]), **limits)

    @classmethod
    def for_task(cls, task: Any, complexity: str = "auto", **limits: Any) -> Budget:
        """A budget for a task in words: its complexity is judged by them, unless it is given.

        >>> Budget.for_task("What is the capital of Norway?").rounds
        3
        """
        if complexity == "auto":
            complexity = _core.judge_complexity(task if isinstance(task, str) else task.text)
        return cls.for_complexity(complexity, **limits)  # type: ignore[arg-type]
