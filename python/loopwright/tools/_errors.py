"""What can go wrong with a tool, by guilt: its author, the model that calls it, or the tool itself.

Every error says what was wrong, where, and what to do.
"""

from __future__ import annotations

from loopwright.errors import LoopwrightError, ModelError, ToolError, UsageError

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


class ToolDefinitionError(UsageError):
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


class UnknownTool(ModelError):
    """The model asks for a tool that is not there."""

    default_code = "unknown_tool"


class _Misfit(ModelError):
    """What the model wrote does not fit.

    `problems` names each wrong field: `where` it is, `what` is wrong, what was `got`.
    """

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


class InvalidArguments(_Misfit):
    """The model's arguments do not fit the tool's parameters.

    `problems` names each wrong field: `where` it is, `what` is wrong, what was `got`.
    """

    default_code = "invalid_arguments"


class InvalidOutput(_Misfit):
    """The model's answer is not of the type that was asked for. `feedback` tells the model what to change."""

    default_code = "invalid_output"

    @property
    def feedback(self) -> str:
        """The same in words for the model."""
        return f"{self.message}\n{self.hint}" if self.hint else self.message


class ToolTimeout(ToolError):
    """A tool gave no result in its time."""

    default_code = "timeout"


class NotSerialisable(ToolError):
    """A tool's result holds something that has no JSON form."""

    default_code = "not_serialisable"
