"""Names that stood at the top before 0.2: each is found there for one more version, with a warning of where it is."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from typing import Any

__all__ = ["MOVED", "elsewhere", "warn_moved"]

_ROOMS = {
    "context": "ContextWindow compress",
    "embeddings": "Embeddings embed embed_sync",
    "errors": "InternalError",
    "extraction": "ExtractedCall Extraction PreparedTools ToolCallParser dialect_for extract extract_json render_call "
    "render_results repair_json strip_tool_markup",
    "grounded": "CitationCheck Source check_citations",
    "guard": "Approvals Policy Risk RiskContext Sensitivity SensitivityLevel assess_risk classify_sensitivity redact",
    "hooks": "Hook ModelChoice",
    "journal": "CacheEntry Diff ForgetReport Replay RoundTrace RunInfo aforget diff events_of forget trace",
    "machine": "Command MachineConfig MachineEvent TurnMachine build_info",
    "memory": "AfterTurn",
    "models": "Call ModelFailure Request Responds Response Streams",
    "monitor": "Breakpoint GoalDrift Intent Momentum MomentumPolicy StuckDetector StuckPolicy assess_intent "
    "continuation next_step signals",
    "otel": "instrument_all",
    "research": "ResearchResult research_tool run_deep_research",
    "roles": "Role Roles",
    "run": "ChildRun ChildStatus Partial RunHandle RunStream Signal SyncStream ToolCall",
    "tokens": "TokenCount TokenCounter count_tokens decode_tokens encode_tokens estimate_tokens",
    "tools": "Text builtin_tools",
    "web": "Page fetch_page fetch_page_sync read_page",
}
MOVED = {name: f"{room}.{name}" for room, names in _ROOMS.items() for name in names.split()} | {"Context": "RunContext"}
"""Where each name that was at the top is now, behind `loopwright.`."""


def elsewhere(name: str) -> Any:
    """What `loopwright.name` is, where it is none of the names of the top: one that moved, or a module."""
    # `from loopwright import …` asks twice: importlib's own function first, the line of the program behind it.
    importing = sys._getframe(2).f_code.co_name == "_handle_fromlist"  # noqa: SLF001
    if name in MOVED:
        room, _, last = f"loopwright.{MOVED[name]}".rpartition(".")
        if not importing:
            warn_moved(f"loopwright.{name}", f"{room}.{last}", stacklevel=4)
        return getattr(import_module(room), last)
    try:
        return import_module(f"loopwright.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"loopwright.{name}":
            raise
    raise _missing(name, importing=importing)


_LOOKED_IN = (
    "errors",
    "tools",
    "guard",
    "models",
    "messages",
    "result",
    "run",
    "events",
    "hooks",
    "monitor",
    "testing",
)
"""Where a name that is not at the top is looked for."""


def warn_moved(before: str, now: str, stacklevel: int) -> None:
    """Warns whoever uses something by its place before."""
    warnings.warn(f"{before} is now {now}", DeprecationWarning, stacklevel=stacklevel)


def _missing(name: str, *, importing: bool) -> Exception:
    from difflib import get_close_matches

    import loopwright

    rooms = [room for room in _LOOKED_IN if name in import_module(f"loopwright.{room}").__all__]
    near = [f"loopwright.{MOVED.get(each, each)}" for each in get_close_matches(name, [*dir(loopwright), *MOVED])]
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    if rooms:
        hint = f"; it is {' or '.join(f'loopwright.{room}.{name}' for room in rooms)}"
    if importing:
        # An `AttributeError` would be shown by no `from … import …`.
        return ImportError(f"cannot import name {name!r} from 'loopwright'{hint}", name="loopwright")
    return AttributeError(f"module 'loopwright' has no attribute {name!r}{hint}")
