"""What can go wrong with a tool, by guilt: its author, the model that calls it, or the tool itself.

Every error says what was wrong, where, and what to do. `LoopwrightError` is the root of the package's tree; it stands
here alone, so that the rest of this folder names it in one place.
"""

from __future__ import annotations

from typing import Any, ClassVar

__all__ = [
    "DuplicateTool",
    "InvalidArguments",
    "InvalidOutput",
    "InvalidToolName",
    "LoopwrightError",
    "NotSerialisable",
    "SchemaError",
    "ToolDefinitionError",
    "ToolError",
    "ToolTimeout",
    "UnknownTool",
]


class LoopwrightError(Exception):
    """The root: a stable `code` for programs, a `message` for people, a `hint` that says what to do."""

    guilt: ClassVar[str] = "usage"
    default_code: ClassVar[str] = "error"

    code: str
    message: str
    hint: str | None

    def __init__(self, message: str, *, code: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.default_code
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class ToolDefinitionError(LoopwrightError):
    """A tool is written in a way that can't work. Its author has to act."""

    default_code = "invalid_tool"


class SchemaError(ToolDefinitionError):
    """No JSON schema can be made of a function's parameters."""

    default_code = "invalid_schema"


class InvalidToolName(ToolDefinitionError):
    """A name that providers refuse."""

    default_code = "invalid_tool_name"


class DuplicateTool(ToolDefinitionError):
    """Two tools of one name."""

    default_code = "duplicate_tool"


class UnknownTool(LoopwrightError):
    """The model asks for a tool that is not there."""

    guilt = "model"
    default_code = "unknown_tool"


class InvalidArguments(LoopwrightError):
    """The model's arguments do not fit the tool's parameters.

    `problems` names each wrong field: `where` it is, `what` is wrong, what was `got`.
    """

    guilt = "model"
    default_code = "invalid_arguments"

    problems: list[dict[str, str]]

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        hint: str | None = None,
        problems: list[dict[str, str]] | None = None,
    ) -> None:
        super().__init__(message, code=code, hint=hint)
        self.problems = problems or []


class InvalidOutput(LoopwrightError):
    """The model's answer is not of the type that was asked for. `feedback` tells the model what to change."""

    guilt = "model"
    default_code = "invalid_output"

    problems: list[dict[str, str]]

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        hint: str | None = None,
        problems: list[dict[str, str]] | None = None,
    ) -> None:
        super().__init__(message, code=code, hint=hint)
        self.problems = problems or []

    @property
    def feedback(self) -> str:
        """The same in words for the model."""
        return f"{self.message}\n{self.hint}" if self.hint else self.message


class ToolError(LoopwrightError):
    """A tool could not do what it was asked for; the model reads why and may try something else.

    Tools raise it themselves: `raise ToolError("no such city", code="unknown_city", hint="use the English name")`.
    """

    guilt = "tool"
    default_code = "tool_failed"

    details: dict[str, Any]

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        hint: str | None = None,
        details: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message, code=code, hint=hint)
        self.details = details or {}


class ToolTimeout(ToolError):
    """A tool gave no result in its time."""

    default_code = "timeout"


class NotSerialisable(ToolError):
    """A tool's result holds something that has no JSON form."""

    default_code = "not_serialisable"
