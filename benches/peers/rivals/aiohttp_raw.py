"""A loop written by hand on aiohttp: what a careful person gets without any framework, and without its features."""

import json

import _path  # noqa: F401
import aiohttp
import harness

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "lookup",
            "description": "Look a key up.",
            "parameters": {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]},
        },
    }
]


async def lookup(key: str) -> str:
    return harness.answer(key)


async def collect(response: aiohttp.ClientResponse) -> tuple[dict, int]:
    """Joins the deltas of a stream into a message."""
    message: dict = {"role": "assistant", "content": None}
    calls: list[dict] = []
    events = 0
    async for line in response.content:
        if not line.startswith(b"data: "):
            continue
        data = line[6:].strip()
        if data == b"[DONE]":
            continue
        events += 1
        part = json.loads(data)
        if not part["choices"]:
            continue
        delta = part["choices"][0]["delta"]
        if delta.get("content"):
            message["content"] = (message["content"] or "") + delta["content"]
        for piece in delta.get("tool_calls") or ():
            if piece["index"] == len(calls):
                calls.append({"id": piece["id"], "type": "function", "function": dict(piece["function"])})
            else:
                calls[piece["index"]]["function"]["arguments"] += piece["function"]["arguments"]
    if calls:
        message["tool_calls"] = calls
    return message, events


async def build(options):
    if options.offline:
        raise harness.Unavailable("a raw loop has no in-memory model")
    session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
    url = options.base_url + "/chat/completions"
    headers = {"authorization": "Bearer k"}

    async def run() -> harness.Outcome:
        messages: list[dict] = [{"role": "user", "content": harness.PROMPT}]
        body = {"model": "fake", "messages": messages, "tools": TOOLS}
        if options.stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        events = 0
        while True:
            async with session.post(url, json=body, headers=headers) as response:
                response.raise_for_status()
                if options.stream:
                    message, seen = await collect(response)
                    events += seen
                else:
                    message = (await response.json())["choices"][0]["message"]
            messages.append(message)
            calls = message.get("tool_calls")
            if not calls:
                return harness.Outcome(message["content"] or "", events)
            for call in calls:
                result = await lookup(**json.loads(call["function"]["arguments"]))
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})

    run.close = session.close
    return run


if __name__ == "__main__":
    harness.main("aiohttp raw", ["aiohttp"], build)
