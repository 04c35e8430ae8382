"""The bare machine under a driver of one's own: pure asyncio, no thread of ours, a few lines.

The machine decides; the driver carries out and reports. Any other framework can drive it the same way.
"""

from __future__ import annotations

import asyncio
import json
import urllib.request
from typing import TYPE_CHECKING, Any, TypeAlias

from loopwright import wire
from loopwright.machine import Command, MachineEvent, TurnMachine
from loopwright.testing import WireServer, call

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

Begun: TypeAlias = "asyncio.Task[None] | asyncio.TimerHandle"


async def drive(
    machine: TurnMachine, prompt: str, ask: Callable[[Command], Awaitable[str]], tools: Mapping[str, Callable[..., Any]]
) -> dict[str, Any]:
    """Runs the machine to its end; gives the outcome."""
    loop, events, begun = asyncio.get_running_loop(), asyncio.Queue[MachineEvent](), dict[int, list[Begun]]()
    began = loop.time()
    events.put_nowait(MachineEvent.start([{"role": "user", "content": [{"type": "text", "text": prompt}]}]))

    async def generate(number: int, command: Command) -> None:
        try:
            events.put_nowait(MachineEvent.generated(number, await ask(command)))
        except OSError as error:
            events.put_nowait(MachineEvent.failed(number, "server", str(error)))

    async def execute(number: int, call: Any) -> None:
        try:
            result = await tools[call.name](**call.arguments)
            events.put_nowait(MachineEvent.executed(number, call.call_id, str(result)))
        except Exception as error:  # noqa: BLE001 - whatever a tool raises, the model reads it
            why = f"{type(error).__name__}: {error}"
            events.put_nowait(MachineEvent.tool_failed(number, call.call_id, "exception", why))

    while True:
        for command in machine.step(await events.get(), loop.time() - began):
            if command.outcome is not None:
                return command.outcome
            number = command.id or 0
            if command.kind == "generate":
                begun[number] = [asyncio.create_task(generate(number, command))]
            elif command.kind == "execute":
                begun[number] = [asyncio.create_task(execute(number, call)) for call in command.calls]
            elif command.kind == "timer":
                at, fired = began + (command.at or 0), MachineEvent.fired(number)
                begun[number] = [loop.call_at(at, events.put_nowait, fired)]
            elif command.kind == "approve":
                events.put_nowait(MachineEvent.decided(number, command.hash or "", "deny", "nobody is there to ask"))
            elif command.kind == "abort":
                for each in begun.pop(number, ()):
                    each.cancel()


async def population(city: str) -> int:
    """A tool is any async function here."""
    return {"Oslo": 717_710}[city]


async def main() -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    machine = TurnMachine({"model": "any", "tools": [{"name": "population", "schema": schema, "read_only": True}]})

    with WireServer([call("population", city="Oslo"), "717,710 people live in Oslo."], strict="any") as server:

        def post(body: str) -> str:
            headers = {"content-type": "application/json"}
            request = urllib.request.Request(f"{server.url}/v1/chat/completions", body.encode(), headers)  # noqa: S310
            with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 - our own server
                return str(answer.read().decode())

        async def ask(command: Command) -> str:
            assert command.request is not None
            body = command.request.to_wire("openai_chat")
            return wire.decode_response("openai_chat", await asyncio.to_thread(post, body)).to_json()

        outcome = await drive(machine, "How many people live in Oslo?", ask, {"population": population})

    print(outcome["final"])
    print(json.dumps(outcome["spent"]["usage"]))
    print(f"{len(machine.take_journal().splitlines())} lines of journal")


if __name__ == "__main__":
    asyncio.run(main())
