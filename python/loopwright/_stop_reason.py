"""The reasons for which a run ends: a closed set, the same in results, events, hooks and journals."""

from typing import Literal

__all__ = ["StopReason"]

StopReason = Literal[
    "natural",
    "no_tool_use",
    "verified",
    "unverified",
    "abstained",
    "needs_user_input",
    "ambiguous",
    "check_in",
    "user_interrupt",
    "cancelled",
    "destructive_operation",
    "rounds",
    "tool_rounds",
    "wall_time",
    "tokens",
    "cost",
    "output_limit",
    "no_progress",
    "low_momentum",
    "repeated_failures",
    "refusal",
    "content_filter",
    "context_window",
    "error",
    "approvals",
    "sanity_pause",
    "sanity_abort",
    "hook_veto",
    "hook_failed",
    "suspended",
]
"""Why a run ended; what each means stands in the page "Getting started"."""
