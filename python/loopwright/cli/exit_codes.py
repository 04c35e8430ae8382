"""Exit codes: one for each kind of ending."""

from __future__ import annotations

__all__ = [
    "BROKEN_PIPE",
    "DIVERGED",
    "ERROR",
    "INTERRUPTED",
    "OK",
    "TABLE",
    "UNREADABLE",
    "USAGE",
    "exit_code",
]

OK = 0
ERROR = 1
USAGE = 2
ABSTAINED = 3
UNVERIFIED = 4
LIMIT = 5
REFUSED = 6
NEEDS_INPUT = 7
STUCK = 8
INTERRUPTED = 130
BROKEN_PIPE = 141

DIVERGED = 1
"""For `replay`: the journal and the machine disagree."""
UNREADABLE = 2
"""For `replay`: there is no journal there."""

_STOPS: dict[str, int] = {
    "natural": OK,
    "no_tool_use": OK,
    "verified": OK,
    "abstained": ABSTAINED,
    "unverified": UNVERIFIED,
    "rounds": LIMIT,
    "tool_rounds": LIMIT,
    "wall_time": LIMIT,
    "tokens": LIMIT,
    "cost": LIMIT,
    "approvals": LIMIT,
    "output_limit": LIMIT,
    "context_window": LIMIT,
    "refusal": REFUSED,
    "content_filter": REFUSED,
    "needs_user_input": NEEDS_INPUT,
    "ambiguous": NEEDS_INPUT,
    "check_in": NEEDS_INPUT,
    "no_progress": STUCK,
    "low_momentum": STUCK,
    "repeated_failures": STUCK,
    "cancelled": INTERRUPTED,
    "user_interrupt": INTERRUPTED,
    "destructive_operation": INTERRUPTED,
    "hook_veto": REFUSED,
    "hook_failed": ERROR,
    "sanity_pause": NEEDS_INPUT,
    "suspended": NEEDS_INPUT,
    "sanity_abort": STUCK,
    "error": ERROR,
}

TABLE = """\
How a command ended, by its exit code:
  0    done: an answer, verified where it is verified
  1    an error ended the run; of replay and diff: they are not the same; of eval: a case did not pass
  2    wrong usage; of replay and diff: there is no readable journal
  3    abstained: the sources do not hold the answer
  4    unverified: no draft passed the check
  5    a limit was reached (rounds, time, tokens, cost, output, context)
  6    refused, by the model, the provider's filter or a hook
  7    the model asks you something first, or paused for a check-in
  8    no progress: the same calls or errors again and again
  130  stopped or cancelled by you
  141  whoever read the output went away
The codes of a chat are 0, and 2 for wrong usage; with its words from a pipe, that of the last answer."""


def exit_code(stop_reason: str, failure: object = None) -> int:
    """The exit code for why a run ended, and for the error that broke it off, if one did."""
    code = _STOPS.get(stop_reason, ERROR)
    # Nobody interrupted a run that an error broke off, and an answer that could not be written down is not all well.
    return ERROR if failure is not None and code in (OK, INTERRUPTED) else code
