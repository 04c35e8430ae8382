"""Loopwright: the agentic-loop engine.

    from loopwright import Agent, tool

    @tool(read_only=True)
    def population(city: str) -> int:
        "How many people live in a city."
        return {"Oslo": 717_710}[city]

    agent = Agent("anthropic:claude-sonnet-4-5", tools=[population])
    print(agent.run_sync("How many people live in Oslo?").output)

Importing this is cheap: each name is loaded when it is first used.
"""

from __future__ import annotations

# What type checkers take for true. `typing` itself is slow to import.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from ._approval import Approval
    from ._cache import CacheEntry
    from ._core import (
        Command,
        MachineConfig,
        Request,
        TokenCount,
        TokenCounter,
        TurnMachine,
        __version__,
        build_info,
        count_tokens,
        decode_tokens,
        encode_tokens,
        estimate_tokens,
    )
    from ._core import Event as MachineEvent
    from ._forget import ForgetReport, aforget, forget
    from ._handoff import Handoff
    from ._instrument import Instrumentation, instrument_all
    from ._model import Model, ModelSettings
    from ._output import Output
    from ._partial import Partial
    from ._replay import Diff, Replay, diff, replay
    from ._sync_stream import SyncStream
    from ._trace import RoundTrace, trace
    from .after import AfterTurn
    from .agent import Agent, RunStream
    from .budget import Budget
    from .children import ChildRun, SubAgent
    from .citations import CitationCheck, check_citations
    from .context import ContextPolicy, ContextWindow, compress
    from .embeddings import Embeddings, embed, embed_sync
    from .errors import (
        InternalError,
        LoopwrightError,
        ModelError,
        ProviderError,
        ToolError,
        UsageError,
    )
    from .extraction import (
        ExtractedCall,
        Extraction,
        PreparedTools,
        ToolCallParser,
        dialect_for,
        extract,
        extract_json,
        render_call,
        render_results,
        repair_json,
        strip_tool_markup,
    )
    from .grounded import Grounded
    from .guard import (
        Approvals,
        Edit,
        Guard,
        Policy,
        Risk,
        RiskContext,
        Sensitivity,
        SensitivityLevel,
        assess_risk,
        classify_sensitivity,
        redact,
    )
    from .handle import ChildStatus, RunHandle
    from .hooks import Hook, Hooks, ModelChoice
    from .journal import Journal, RunInfo, events_of
    from .memory import Memory
    from .messages import Message
    from .models import Call, ModelFailure, Responds, Response, Streams
    from .research import Research, ResearchResult, research_tool, run_deep_research
    from .result import Messages, Result, Source, ToolCall, Usage
    from .roles import Role, Roles
    from .senses import (
        Breakpoint,
        GoalDrift,
        Intent,
        Momentum,
        MomentumPolicy,
        Monitor,
        StuckDetector,
        StuckPolicy,
        assess_intent,
        continuation,
        next_step,
        signals,
    )
    from .signal import Signal
    from .steps import EndStep, ModelStep, RunIter, ToolStep
    from .tools import Context, Image, RunContext, Text, Tool, Toolset, builtin_tools, tool
    from .web import Page, fetch_page, fetch_page_sync, read_page

_HOMES = {
    "AfterTurn": "after",
    "Agent": "agent",
    "Approval": "_approval",
    "Approvals": "guard",
    "Budget": "budget",
    "Call": "models",
    "ChildRun": "children",
    "ChildStatus": "handle",
    "Command": "_core",
    "Context": "tools",
    "Edit": "guard",
    "Guard": "guard",
    "Output": "_output",
    "Request": "_core",
    "RunContext": "tools",
    "Toolset": "tools",
    "ExtractedCall": "extraction",
    "EndStep": "steps",
    "Extraction": "extraction",
    "ContextPolicy": "context",
    "ContextWindow": "context",
    "Grounded": "grounded",
    "Hook": "hooks",
    "Hooks": "hooks",
    "Image": "tools",
    "Instrumentation": "_instrument",
    "InternalError": "errors",
    "LoopwrightError": "errors",
    "MachineConfig": "_core",
    "MachineEvent": "_core:Event",
    "Memory": "memory",
    "Message": "messages",
    "Messages": "result",
    "Model": "_model",
    "ModelChoice": "hooks",
    "ModelError": "errors",
    "ModelFailure": "models",
    "ModelSettings": "_model",
    "ModelStep": "steps",
    "Policy": "guard",
    "ProviderError": "errors",
    "Diff": "_replay",
    "Replay": "_replay",
    "Responds": "models",
    "Streams": "models",
    "Response": "models",
    "Result": "result",
    "RunHandle": "handle",
    "RunIter": "steps",
    "CacheEntry": "_cache",
    "RoundTrace": "_trace",
    "RunStream": "agent",
    "SyncStream": "_sync_stream",
    "Partial": "_partial",
    "Signal": "signal",
    "Source": "result",
    "SubAgent": "children",
    "Handoff": "_handoff",
    "Text": "tools",
    "TokenCount": "_core",
    "TokenCounter": "_core",
    "Tool": "tools",
    "ToolCall": "result",
    "PreparedTools": "extraction",
    "ToolCallParser": "extraction",
    "ToolError": "errors",
    "ToolStep": "steps",
    "TurnMachine": "_core",
    "Usage": "result",
    "UsageError": "errors",
    "__version__": "_core",
    "build_info": "_core",
    "builtin_tools": "tools",
    "dialect_for": "extraction",
    "extract": "extraction",
    "extract_json": "extraction",
    "render_call": "extraction",
    "render_results": "extraction",
    "repair_json": "extraction",
    "count_tokens": "_core",
    "decode_tokens": "_core",
    "encode_tokens": "_core",
    "estimate_tokens": "_core",
    "Embeddings": "embeddings",
    "compress": "context",
    "embed": "embeddings",
    "embed_sync": "embeddings",
    "diff": "_replay",
    "Momentum": "senses",
    "MomentumPolicy": "senses",
    "StuckDetector": "senses",
    "Monitor": "senses",
    "StuckPolicy": "senses",
    "continuation": "senses",
    "GoalDrift": "senses",
    "Intent": "senses",
    "assess_intent": "senses",
    "next_step": "senses",
    "signals": "senses",
    "replay": "_replay",
    "strip_tool_markup": "extraction",
    "tool": "tools",
    "Risk": "guard",
    "RiskContext": "guard",
    "assess_risk": "guard",
    "Breakpoint": "senses",
    "Sensitivity": "guard",
    "SensitivityLevel": "guard",
    "classify_sensitivity": "guard",
    "redact": "guard",
    "Role": "roles",
    "Roles": "roles",
    "trace": "_trace",
    "Research": "research",
    "ResearchResult": "research",
    "research_tool": "research",
    "run_deep_research": "research",
    "CitationCheck": "citations",
    "check_citations": "citations",
    "Journal": "journal",
    "RunInfo": "journal",
    "events_of": "journal",
    "ForgetReport": "_forget",
    "aforget": "_forget",
    "forget": "_forget",
    "instrument_all": "_instrument",
    "Page": "web",
    "fetch_page": "web",
    "fetch_page_sync": "web",
    "read_page": "web",
}

__all__ = [
    "AfterTurn",
    "Agent",
    "Approval",
    "Approvals",
    "Breakpoint",
    "Budget",
    "CacheEntry",
    "Call",
    "ChildRun",
    "ChildStatus",
    "CitationCheck",
    "Command",
    "Context",
    "ContextPolicy",
    "ContextWindow",
    "Diff",
    "Edit",
    "Embeddings",
    "EndStep",
    "ExtractedCall",
    "Extraction",
    "ForgetReport",
    "GoalDrift",
    "Grounded",
    "Guard",
    "Handoff",
    "Hook",
    "Hooks",
    "Image",
    "Instrumentation",
    "Intent",
    "InternalError",
    "Journal",
    "LoopwrightError",
    "MachineConfig",
    "MachineEvent",
    "Memory",
    "Message",
    "Messages",
    "Model",
    "ModelChoice",
    "ModelError",
    "ModelFailure",
    "ModelSettings",
    "ModelStep",
    "Momentum",
    "MomentumPolicy",
    "Monitor",
    "Output",
    "Page",
    "Partial",
    "Policy",
    "PreparedTools",
    "ProviderError",
    "Replay",
    "Request",
    "Research",
    "ResearchResult",
    "Responds",
    "Response",
    "Result",
    "Risk",
    "RiskContext",
    "Role",
    "Roles",
    "RoundTrace",
    "RunContext",
    "RunHandle",
    "RunInfo",
    "RunIter",
    "RunStream",
    "Sensitivity",
    "SensitivityLevel",
    "Signal",
    "Source",
    "Streams",
    "StuckDetector",
    "StuckPolicy",
    "SubAgent",
    "SyncStream",
    "Text",
    "TokenCount",
    "TokenCounter",
    "Tool",
    "ToolCall",
    "ToolCallParser",
    "ToolError",
    "ToolStep",
    "Toolset",
    "TurnMachine",
    "Usage",
    "UsageError",
    "__version__",
    "aforget",
    "assess_intent",
    "assess_risk",
    "build_info",
    "builtin_tools",
    "check_citations",
    "classify_sensitivity",
    "compress",
    "continuation",
    "count_tokens",
    "decode_tokens",
    "dialect_for",
    "diff",
    "embed",
    "embed_sync",
    "encode_tokens",
    "estimate_tokens",
    "events_of",
    "extract",
    "extract_json",
    "fetch_page",
    "fetch_page_sync",
    "forget",
    "instrument_all",
    "next_step",
    "read_page",
    "redact",
    "render_call",
    "render_results",
    "repair_json",
    "replay",
    "research_tool",
    "run_deep_research",
    "signals",
    "strip_tool_markup",
    "tool",
    "trace",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if name in ("mcp", "presets", "roles"):
        from importlib import import_module

        return import_module(f".{name}", __name__)
    if home is None:
        message = f"module 'loopwright' has no attribute {name!r}"
        raise AttributeError(message)
    from importlib import import_module

    module, _, other = home.partition(":")
    value = getattr(import_module(f".{module}", __name__), other or name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
