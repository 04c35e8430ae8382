"""Exit codes: one for each kind of ending, with the sentence that says it."""

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
    "sentence",
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

_STOPS: dict[str, tuple[int, str]] = {
    "natural": (OK, "The model was done."),
    "no_tool_use": (OK, "The model was done."),
    "verified": (OK, "The answer was checked against its sources."),
    "abstained": (ABSTAINED, "The sources do not hold the answer."),
    "unverified": (UNVERIFIED, "No draft passed the check against the sources."),
    "max_iterations": (LIMIT, "The limit of requests to the model was reached."),
    "tool_rounds": (LIMIT, "The limit of tool rounds was reached."),
    "wall_time": (LIMIT, "The time was up."),
    "tokens": (LIMIT, "The limit of tokens was reached."),
    "cost": (LIMIT, "The limit of money was reached."),
    "approvals": (LIMIT, "The limit of questions to you was reached."),
    "output_limit": (LIMIT, "The answer was cut at the model's output limit."),
    "context_window": (LIMIT, "The model's context window was full."),
    "refusal": (REFUSED, "The model refused."),
    "content_filter": (REFUSED, "The provider's filter cut the answer."),
    "needs_user_input": (NEEDS_INPUT, "The model asks you something first."),
    "ambiguous": (NEEDS_INPUT, "The model asks which of several things you mean."),
    "check_in": (NEEDS_INPUT, "Paused for a check-in, as configured."),
    "no_progress": (STUCK, "Stopped: it went round in circles."),
    "low_momentum": (STUCK, "Stopped: too little of what was tried succeeded."),
    "repeated_failures": (STUCK, "Stopped: the same error came again and again."),
    "cancelled": (INTERRUPTED, "Cancelled."),
    "user_interrupt": (INTERRUPTED, "Stopped, as you wished."),
    "destructive_operation": (INTERRUPTED, "Stopped, as you wished."),
    "hook_veto": (REFUSED, "A hook said no."),
    "hook_failed": (ERROR, "A hook failed that must not fail."),
    "sanity_pause": (NEEDS_INPUT, "Paused: a check of the run says that somebody should look."),
    "sanity_abort": (STUCK, "Stopped: a check of the run says that it goes nowhere."),
    "error": (ERROR, "An error ended the run."),
}

TABLE = """\
exit codes:
  0    done: an answer, verified where it is verified
  1    an error ended the run
  2    wrong usage
  3    abstained: the sources do not hold the answer
  4    unverified: no draft passed the check
  5    a limit was reached (rounds, time, tokens, cost, output, context)
  6    refused, by the model, the provider's filter or a hook
  7    the model asks you something first, or paused for a check-in
  8    no progress: the same calls or errors again and again
  130  stopped or cancelled by you
  141  whoever read the output went away"""


def exit_code(stop_reason: str, failure: object = None) -> int:
    """The exit code for why a run ended, and for the error that broke it off, if one did."""
    code = _STOPS.get(stop_reason, (ERROR, ""))[0]
    # Nobody interrupted a run that an error broke off, and an answer that could not be written down is not all well.
    return ERROR if failure is not None and code in (OK, INTERRUPTED) else code


def sentence(stop_reason: str, failure: object = None) -> str:
    """Why a run ended, in words."""
    if exit_code(stop_reason, failure) != exit_code(stop_reason):
        stop_reason = "error"
    return _STOPS.get(stop_reason, (ERROR, f"The run ended: {stop_reason}."))[1]
