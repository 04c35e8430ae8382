"""Our side as a server: an agent, its tools, answers from folders, and rooms of ours that need no model.

A tool of an agent is called by a run of its own, so that the agent's guard, hooks and journal hold for it as they do
for the agent's model. Nothing is decided here.
"""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import mcp_types
from mcp.server import MCPServer

from loopwright._core import __version__
from loopwright._suspend import person_of
from loopwright.errors import LoopwrightError
from loopwright.events import ToolProgress
from loopwright.models import Call, Response
from loopwright.tools import tool
from loopwright.tools._tool import suggest_name

if TYPE_CHECKING:
    import os
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from loopwright.agent import Agent
    from loopwright.tools import Tool

__all__ = ["AgentServer"]

_PROMPT = {
    "type": "object",
    "properties": {"prompt": {"type": "string", "description": "What it shall do."}},
    "required": ["prompt"],
    "additionalProperties": False,
}


class AgentServer(MCPServer[Any]):
    """An `MCPServer` of the official package that offers what is ours beside what is added to it.

    ::

        server = AgentServer("shop", agent=agent, folders=["docs"])
        server.run("streamable-http", port=8000)

    Args:
        name: What it is called.
        agent: An agent that is offered as a tool of its name, and each of its functions as a tool.
        folders: Where the tool `ask` looks for answers.
        model: Who writes them; `offline:extractive`, which needs no key, otherwise.
        rooms: Whether `extract`, `compress`, `count` and `assess` are offered.
        options: Further options of the package's `MCPServer`.
    """

    def __init__(
        self,
        name: str = "loopwright",
        *,
        agent: Agent[Any, Any] | None = None,
        folders: Iterable[str | os.PathLike[str]] = (),
        model: Any = "offline:extractive",
        rooms: bool = True,
        **options: Any,
    ) -> None:
        options.setdefault("version", __version__)
        super().__init__(name, **options)
        self._ours: dict[str, tuple[mcp_types.Tool, Callable[[dict[str, Any], Any], Awaitable[Any]]]] = {}
        where = [str(each) for each in folders]
        if agent is not None:
            self._take_agent(agent)
        if where:
            self._take_tool(_asking(where, model), None)
        for each in _rooms() if rooms else ():
            self._take_tool(each, None)

    async def list_tools(self) -> list[mcp_types.Tool]:
        """All tools: ours by their names, then those that were added."""
        ours = [told for _, (told, _) in sorted(self._ours.items())]
        return [*ours, *(each for each in await super().list_tools() if each.name not in self._ours)]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Any = None
    ) -> mcp_types.CallToolResult | mcp_types.InputRequiredResult:
        """What a tool gives. What goes wrong in one of ours is a result that says so."""
        if name not in self._ours:
            return await super().call_tool(name, arguments, context)
        try:
            result: mcp_types.CallToolResult = await self._ours[name][1](arguments, context)
        except LoopwrightError as error:
            return _failed(str(error))
        return result

    def _take_agent(self, agent: Agent[Any, Any]) -> None:
        name = suggest_name(agent.name or "agent")

        async def run(arguments: dict[str, Any], context: Any) -> mcp_types.CallToolResult:
            prompt = arguments.get("prompt")
            if not isinstance(prompt, str) or not prompt.strip():
                return _failed("prompt must be a text that is not empty")
            result = await agent.run(prompt, on_event=_teller(context))
            data = {"answer": result.final, "stop_reason": result.stop_reason}
            text = result.final or result.message or result.stop_reason
            return mcp_types.CallToolResult(content=[_text(text)], structured_content=data)

        about = agent.description or "An agent: give it a task in words."
        self._ours[name] = (mcp_types.Tool(name=name, description=about, input_schema=_PROMPT), run)
        for each in agent.tools:
            if each.answers is None:
                self._take_tool(each, agent)

    def _take_tool(self, each: Tool[..., Any, Any], agent: Agent[Any, Any] | None) -> None:
        if each.name in self._ours:
            return
        effects = each.effects
        hints = mcp_types.ToolAnnotations(
            read_only_hint=each.read_only,
            idempotent_hint=each.idempotent,
            destructive_hint=not each.read_only
            and (effects is None or "deletes" in effects or each.risk != "cautious"),
        )
        told = mcp_types.Tool(name=each.name, description=each.description, input_schema=each.schema, annotations=hints)

        async def call(arguments: dict[str, Any], context: Any) -> mcp_types.CallToolResult:
            if agent is None:
                outcome = await each.run(arguments)
                return _result(outcome.content, is_error=outcome.is_error)
            return await _relayed(agent, each, arguments, context)

        self._ours[each.name] = (told, call)


class _OneCall:
    """A model that makes one call, and says no more."""

    name = "mcp"
    inline = True

    def __init__(self, call: Call) -> None:
        self._call: Call | None = call

    def respond(self, _: Any) -> Any:
        """The call, then nothing."""
        call, self._call = self._call, None
        return "done" if call is None else Response("", [call])


async def _relayed(
    agent: Agent[Any, Any], each: Tool[..., Any, Any], arguments: dict[str, Any], context: Any
) -> mcp_types.CallToolResult:
    """A call of an agent's tool, judged by that agent's guard and hooks."""
    from loopwright.agent import Agent

    made: Agent[Any, Any] = Agent(
        _OneCall(Call(each.name, arguments)), tools=[each], guard=person_of(agent._approve), name="mcp"
    )
    made = copy.copy(made)
    made.journal = agent.journal
    made._config = {**made._config, "guard": agent._config["guard"]}
    made._around, made._sandbox, made._hooks = agent._around, agent._sandbox, agent._hooks
    for option in ("hooks", "approval_timeout"):
        if agent._config.get(option) is not None:
            made._config[option] = agent._config[option]
    made._plans = {}
    wanted = json.dumps(arguments, ensure_ascii=False)
    result = await made.run(f"Call {each.name} with {wanted}.", on_event=_teller(context))
    for message in reversed(list(result.messages)):
        for block in json.loads(message.to_json())["content"]:
            if isinstance(block, dict) and block.get("type") == "tool_result":
                return _result(block["content"], is_error=bool(block.get("is_error")))
    return _failed(result.message or f"the call was not made: {result.stop_reason}")


def _teller(context: Any) -> Callable[[Any], Any]:
    """Tells the client how far a tool is; numbers that it says are taken (`2 of 5: cutting`)."""
    count = 0

    async def tell(event: Any) -> None:
        nonlocal count
        if isinstance(event, ToolProgress) and context is not None:
            count += 1
            done, total, words = _progress(event.text, count)
            await context.report_progress(done, total, words)

    return tell


def _progress(text: str, count: int) -> tuple[float, float | None, str]:
    figures, _, words = text.partition(": ")
    done, _, total = figures.partition(" of ")
    try:
        return float(done), float(total), words
    except ValueError:
        return float(count), None, text


def _result(content: Iterable[Mapping[str, Any]], *, is_error: bool) -> mcp_types.CallToolResult:
    blocks: list[Any] = []
    for block in content:
        picture = (block.get("source") or {}).get("base64") if block["type"] == "image" else None
        if picture is not None:
            blocks.append(mcp_types.ImageContent(type="image", data=picture["data"], mime_type=picture["media_type"]))
        else:
            blocks.append(_text(block.get("text") or json.dumps(block)))
    data: Any = None
    if not is_error and len(blocks) == 1 and isinstance(blocks[0], mcp_types.TextContent):
        try:
            data = json.loads(blocks[0].text)
        except (ValueError, RecursionError):
            data = None
    structured = data if isinstance(data, dict) else None
    return mcp_types.CallToolResult(content=blocks, structured_content=structured, is_error=is_error)


def _text(text: str) -> mcp_types.TextContent:
    return mcp_types.TextContent(type="text", text=text)


def _failed(text: str) -> mcp_types.CallToolResult:
    return mcp_types.CallToolResult(content=[_text(text)], is_error=True)


def _asking(folders: list[str], model: Any) -> Tool[..., Any, Any]:
    from loopwright.grounded import Grounded

    grounded = Grounded(model, sources=folders)

    @tool(read_only=True)
    async def ask(question: str) -> dict[str, Any]:
        """Answers a question from the files of a folder, with sources; says so where they do not answer it.

        Args:
            question: The question.
        """
        result = await grounded.run(question)
        return {"answer": result.final, "sources": [str(each) for each in result.sources]}

    return ask


def _rooms() -> list[Tool[..., Any, Any]]:
    @tool(read_only=True)
    def extract(text: str, tools: list[str] | None = None) -> dict[str, Any]:
        """The tool calls that a model wrote into its text, in any of the known dialects; and the text without them.

        Args:
            text: What the model wrote.
            tools: The names of tools that there are; any otherwise.
        """
        from loopwright.extraction import extract as found_in

        found = found_in(text, tools)
        calls = [{"name": call.name, "arguments": call.arguments} for call in found.calls]
        return {"prose": found.prose, "calls": calls}

    @tool(read_only=True)
    def compress(messages: list[dict[str, Any]], budget: int) -> list[Any]:
        """Makes a conversation fit into a number of tokens.

        Args:
            messages: Messages as Chat Completions or Anthropic's API have them.
            budget: Tokens at most.
        """
        from loopwright.context import compress as fitted

        return fitted(messages, budget).messages

    @tool(read_only=True)
    def count(text: str, model: str | None = None) -> int:
        """How many tokens a text is.

        Args:
            text: The text.
            model: The model that reads it.
        """
        from loopwright.tokens import count_tokens

        return int(count_tokens(text, model))

    @tool(read_only=True)
    def assess(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """How much harm a call of a tool may do: safe, cautious, confirm or dangerous, and why. Nothing runs.

        Args:
            name: The tool, such as bash.
            arguments: What it would be called with.
        """
        from loopwright.guard import assess_risk

        risk = assess_risk((name, arguments))
        return {"level": risk.level, "rule": risk.rule, "why": risk.why, "asks": risk.asks}

    return [extract, compress, count, assess]
