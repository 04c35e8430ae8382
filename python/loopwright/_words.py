"""What other frameworks call options and members, and what they are called here.

A keyword that there is not is an `UnknownOption` that says the right word: that of the table, or the nearest one.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, TypeVar

from ._dataclasses import fields, wrap_method
from .errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["UnknownOption", "also_called", "only_options", "options_of", "takes_no_others", "unknown"]

Function = TypeVar("Function", bound="Callable[..., Any]")
T = TypeVar("T")

_INSTRUCTIONS = "instructions"
_MESSAGES = "messages"
_OUTPUT_TYPE = "output_type"
_BUDGET = "budget=Budget(...)"
_ROUNDS = "budget=Budget(rounds=...)"
_GUARD = "guard=Guard(approve=...)"
_HOOKS = "hooks"
_TOOLS = "tools"
_JOURNAL = "journal, and messages=result.messages at the next run"
_AT_RUN = "an option of the run: agent.run(..., {}=...)"


def _of_model(name: str) -> str:
    return f'Model("provider:model", {name}=...)'


def _settings(name: str) -> str:
    return f'settings={{"{name}": ...}}'


_WORDS = {
    **dict.fromkeys(("system", "system_prompt", "prompt_template", "system_message"), _INSTRUCTIONS),
    **dict.fromkeys(("message_history", "chat_history", "history", "input", "session_input"), _MESSAGES),
    **dict.fromkeys(
        (
            "result_type",
            "response_format",
            "response_model",
            "output_schema",
            "structured_output_model",
            "output_validator",
        ),
        _OUTPUT_TYPE,
    ),
    **dict.fromkeys(("usage_limits", "limits"), _BUDGET),
    **dict.fromkeys(("max_turns", "max_iterations", "max_steps", "recursion_limit"), _ROUNDS),
    "complexity": 'budget=Budget(rounds="auto")',
    "max_children": "budget=Budget(children=...)",
    "max_depth": "budget=Budget(depth=...)",
    "model_settings": 'settings={"temperature": ...}',
    **{name: _settings(name) for name in ("temperature", "max_tokens", "top_p", "stop", "effort", "tool_choice")},
    "stop_sequences": _settings("stop"),
    "reasoning_effort": _settings("effort"),
    **{name: _of_model(name) for name in ("base_url", "api_key", "headers", "timeouts", "retry", "price")},
    **{name: _of_model(name) for name in ("tool_format", "read_markup", "escalate_to")},
    "timeout": 'Model("provider:model", timeouts={"total": ...}), or budget=Budget(wall_time=...)',
    "retries": 'Model("provider:model", retry={"attempts": ...}), or Annotated[T, Output(attempts=...)] for outputs',
    "choose_model": "model=Router(choose, default=...)",
    "take_suggestions": "model=Router(..., accept_suggestions=...)",
    "cache": _settings("cache"),
    **dict.fromkeys(("dependencies", "context_schema", "deps_types"), "deps_type (and deps= at the run)"),
    "context_data": "deps",
    **dict.fromkeys(("toolsets", "mcp_servers", "builtin_tools", "native_tools", "functions"), _TOOLS),
    "provider_tools": "tools=[ProviderTool({...})]",
    "web_search": "tools=[WebSearch(...)]",
    **dict.fromkeys(("can_use_tool", "interrupt_on", "needs_approval", "approve", "approvals"), _GUARD),
    "cautious": "guard=Guard(on_cautious=...)",
    "policy": "guard=Guard(policy=...)",
    "workspace": "guard=Guard(workspace=...)",
    "approval_timeout": "guard=Guard(timeout=...)",
    **dict.fromkeys(("checkpointer", "db", "session_manager", "thread_id", "conversation_id"), _JOURNAL),
    "store": "memory",
    "durable": "journal=Journal(path, durable=...)",
    **dict.fromkeys(
        ("middleware", "capabilities", "callbacks", "input_guardrails", "output_guardrails", "pre_model_hook"), _HOOKS
    ),
    **dict.fromkeys(("event_stream_handler", "callback_handler"), "on_event, at the run"),
    "stuck": "monitor=Monitor(stuck=...)",
    "momentum": "monitor=Monitor(momentum=...)",
    "check_in": "monitor=Monitor(pause_every=...)",
    "wind_down": "monitor=Monitor(warn_rounds_left=...)",
    "roles": "said where each acts: Model(fallback=[...]), ContextPolicy(summarizer=...), Monitor(sanity=...), "
    "Guard(supervisor=...), MemoryPolicy(reflector=...)",
    "labels": _AT_RUN.format("metadata"),
    "seed": _AT_RUN.format("seed"),
    "user": _AT_RUN.format("user"),
    "session": _AT_RUN.format("session"),
    "recall": "memory=MemoryPolicy(store, recall=...)",
    "after": "memory=MemoryPolicy(store, after=...)",
}


class UnknownOption(UsageError, TypeError):
    """An option that there is not; the hint says what it is called here."""

    default_code = "unknown_option"


def unknown(whose: str, name: str, known: Iterable[str], words: Mapping[str, str] = _WORDS) -> UnknownOption:
    """The error for an option that there is not."""
    from difflib import get_close_matches

    there = [*known]
    if name in words and words[name] != name:
        hint = f"here it is {words[name]}"
    elif near := get_close_matches(name, there, 1):
        hint = f"did you mean {near[0]}?"
    else:
        hint = f"there are {', '.join(there)}"
    return UnknownOption(f"{whose} has no option {name}", hint=hint)


def takes_no_others(
    whose: str, beside: Iterable[str] = (), words: Mapping[str, str] = _WORDS
) -> Callable[[Function], Function]:
    """Decorates a function: a keyword that is neither its own nor one of `beside` is an `UnknownOption`."""

    def decorate(function: Function) -> Function:
        known = tuple(dict.fromkeys((*options_of(function), *beside)))

        @functools.wraps(function)
        def begin(*values: Any, **given: Any) -> Any:
            for name in given:
                if name not in known:
                    raise unknown(whose, name, known, words)
            return function(*values, **given)

        return begin  # type: ignore[return-value]

    return decorate


def options_of(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of a function's parameters behind its first one."""
    code: Any = getattr(function, "__wrapped__", function).__code__
    names: tuple[str, ...] = code.co_varnames
    return names[1 : code.co_argcount + code.co_kwonlyargcount]


def only_options(**words: str) -> Callable[[type[T]], type[T]]:
    """Decorates a dataclass: a keyword that is no field is an `UnknownOption`; `words` are what others call its own."""

    def decorate(kind: type[T]) -> type[T]:
        def init_of(start: Any) -> Any:
            @functools.wraps(start)
            def init(self: T, *values: Any, **given: Any) -> None:
                if given:
                    described: Any = kind
                    known = [each.name for each in fields(described) if each.init]
                    for name in given:
                        if name not in known:
                            shown = [each for each in known if not each.startswith("_")]
                            raise unknown(kind.__name__, name, shown, {**_WORDS, **words})
                start(self, *values, **given)

            return init

        wrap_method(kind, "__init__", init_of)
        return kind

    return decorate


def also_called(**words: str) -> Callable[[type[T]], type[T]]:
    """Decorates a class: whoever asks for a member by the word of another framework is told the one here."""

    def decorate(kind: type[T]) -> type[T]:
        def missing(self: T, name: str) -> Any:
            found = getattr(kind, name, None)
            if isinstance(found, property):
                # One that raises an `AttributeError` gets here, too: its own words hold.
                return found.__get__(self)
            message = f"{kind.__name__!r} object has no attribute {name!r}"
            if name in words:
                message = f"{message}: here it is {words[name]}"
            raise AttributeError(message, name=name, obj=self)

        changed: Any = kind
        changed.__getattr__ = missing
        return kind

    return decorate
