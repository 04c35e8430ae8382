"""The vendors' own clients at this project's double of their servers, and its requests held against their typed models.

The clients are those that a program would use; what they read must be what was said. The requests are those of a run
with tools, calls at once, a picture, a typed answer and settings; a member that a type doesn't know counts as wrong.
"""

from __future__ import annotations

import base64
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import anthropic
import boto3
import botocore.session
import openai
import typing_extensions
from botocore.config import Config
from botocore.validate import ParamValidator
from google import genai
from google.genai import errors as genai_errors
from google.genai import types as genai_types
from loopwright import Agent, Model, tool
from loopwright.messages import Image
from loopwright.models import Call
from loopwright.testing import WireServer, calls, fault, text
from outcome import Cell
from pydantic import BaseModel, TypeAdapter, ValidationError

WORDS = "The quick brown fox jumps over the lazy dog: naïve, 北京, 🎉."
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TWO = (Call("population", {"city": "Oslo"}, "c1"), Call("population", {"city": "Bergen"}, "c2"))
PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg=="
)


class City(BaseModel):
    """A city."""

    name: str
    people: int


@tool(read_only=True)
def population(city: str) -> int:
    "How many people live in a city."
    return 717_710


def expect(found: object, wanted: object, what: str) -> None:
    if found != wanted:
        raise AssertionError(f"{what}: {found!r:.120}, not {wanted!r:.120}")


def say(server: WireServer, *replies: Any) -> None:
    for reply in replies:
        server.push(reply)


# The clients.


def google(url: str) -> Any:
    return genai.Client(api_key="k", http_options=genai_types.HttpOptions(base_url=url))


def bedrock(url: str) -> Any:
    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region_name": "us-east-1"}
    return boto3.client("bedrock-runtime", endpoint_url=url, config=Config(retries={"total_max_attempts": 1}), **keys)


BEDROCK = {"modelId": "anthropic.claude-sonnet-4-5", "messages": [{"role": "user", "content": [{"text": "hi"}]}]}
BEDROCK_TOOLS = {"tools": [{"toolSpec": {"name": "population", "inputSchema": {"json": SCHEMA}}}]}


def google_whole(server: WireServer) -> None:
    client = google(server.url)
    server.push(text(WORDS))
    answer = client.models.generate_content(model="gemini-2.5-flash", contents="hi")
    expect(answer.text, WORDS, "text")
    expect(answer.candidates[0].finish_reason.name, "STOP", "finish reason")
    expect(answer.usage_metadata.prompt_token_count > 0, True, "tokens")


def google_streamed(server: WireServer) -> None:
    client = google(server.url)
    server.push(text(WORDS))
    pieces = list(client.models.generate_content_stream(model="gemini-2.5-flash", contents="hi"))
    expect("".join(piece.text or "" for piece in pieces), WORDS, "text")
    expect(len(pieces) > 1, True, "pieces")


def google_tools(server: WireServer) -> None:
    client = google(server.url)
    server.push(calls(*TWO))
    declared = genai_types.FunctionDeclaration(name="population", parameters_json_schema=SCHEMA)
    config = genai_types.GenerateContentConfig(tools=[genai_types.Tool(function_declarations=[declared])])
    answer = client.models.generate_content(model="gemini-2.5-flash", contents="hi", config=config)
    expect([(one.name, one.args) for one in answer.function_calls], [(c.name, c.arguments) for c in TWO], "calls")


def google_error(server: WireServer) -> None:
    client = google(server.url)
    server.push(fault.status(429))
    try:
        client.models.generate_content(model="gemini-2.5-flash", contents="hi")
    except genai_errors.ClientError as error:
        expect(error.code, 429, "code")
    else:
        raise AssertionError("no error")


def google_counts(server: WireServer) -> None:
    client = google(server.url)
    counted = client.models.count_tokens(model="gemini-2.5-flash", contents="one two three")
    expect(counted.total_tokens > 0, True, "tokens")


def bedrock_whole(server: WireServer) -> None:
    server.push(text(WORDS))
    answer = bedrock(server.url).converse(**BEDROCK)
    expect(answer["output"]["message"]["content"], [{"text": WORDS}], "content")
    expect(answer["stopReason"], "end_turn", "stop reason")
    expect(answer["usage"]["inputTokens"] > 0, True, "tokens")


def bedrock_streamed(server: WireServer) -> None:
    server.push(text(WORDS))
    events = list(bedrock(server.url).converse_stream(**BEDROCK)["stream"])
    said = [event["contentBlockDelta"]["delta"].get("text", "") for event in events if "contentBlockDelta" in event]
    expect("".join(said), WORDS, "text")
    expect([event["messageStop"]["stopReason"] for event in events if "messageStop" in event], ["end_turn"], "end")


def bedrock_tools(server: WireServer) -> None:
    say(server, calls(*TWO), calls(*TWO))
    answer = bedrock(server.url).converse(**BEDROCK, toolConfig=BEDROCK_TOOLS)
    found = [block["toolUse"] for block in answer["output"]["message"]["content"] if "toolUse" in block]
    expect([(use["toolUseId"], use["input"]) for use in found], [(c.call_id, c.arguments) for c in TWO], "calls")
    events = list(bedrock(server.url).converse_stream(**BEDROCK, toolConfig=BEDROCK_TOOLS)["stream"])
    starts = [event["contentBlockStart"]["start"] for event in events if "contentBlockStart" in event]
    expect([start["toolUse"]["toolUseId"] for start in starts if "toolUse" in start], ["c1", "c2"], "streamed calls")


def bedrock_error(server: WireServer) -> None:
    server.push(fault.status(429))
    client = bedrock(server.url)
    try:
        client.converse(**BEDROCK)
    except client.exceptions.ThrottlingException:
        return
    raise AssertionError("no ThrottlingException")


def openai_chat(server: WireServer) -> None:
    client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="k", max_retries=0)
    say(server, text(WORDS), text(WORDS), calls(*TWO), fault.status(429))
    asked: Any = {"model": "gpt-4.1", "messages": [{"role": "user", "content": "hi"}]}
    expect(client.chat.completions.create(**asked).choices[0].message.content, WORDS, "text")
    pieces = client.chat.completions.create(**asked, stream=True)
    expect("".join(p.choices[0].delta.content or "" for p in pieces if p.choices), WORDS, "streamed text")
    tools: Any = [{"type": "function", "function": {"name": "population", "parameters": SCHEMA}}]
    made = client.chat.completions.create(**asked, tools=tools).choices[0].message.tool_calls
    expect([one.id for one in made or []], ["c1", "c2"], "calls")
    refused(lambda: client.chat.completions.create(**asked), openai.RateLimitError)


def openai_responses(server: WireServer) -> None:
    client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="k", max_retries=0)
    say(server, text(WORDS), text(WORDS), fault.status(429))
    asked: Any = {"model": "gpt-4.1", "input": "hi"}
    expect(client.responses.create(**asked).output_text, WORDS, "text")
    with client.responses.stream(**asked) as stream:
        expect(stream.get_final_response().output_text, WORDS, "streamed text")
    refused(lambda: client.responses.create(**asked), openai.RateLimitError)


def anthropic_messages(server: WireServer) -> None:
    client = anthropic.Anthropic(base_url=server.url, api_key="k", max_retries=0)
    say(server, text(WORDS), text(WORDS), calls(*TWO), fault.status(429))
    asked: Any = {"model": "claude-sonnet-4-5", "max_tokens": 99, "messages": [{"role": "user", "content": "hi"}]}
    expect(client.messages.create(**asked).content[0].text, WORDS, "text")
    with client.messages.stream(**asked) as stream:
        expect(stream.get_final_message().content[0].text, WORDS, "streamed text")
    made = client.messages.create(**asked, tools=[{"name": "population", "input_schema": SCHEMA}]).content
    expect([block.id for block in made if block.type == "tool_use"], ["c1", "c2"], "calls")
    refused(lambda: client.messages.create(**asked), anthropic.RateLimitError)
    expect(client.messages.count_tokens(**{k: asked[k] for k in ("model", "messages")}).input_tokens > 0, True, "count")


def refused(ask: Callable[[], object], kind: type[Exception]) -> None:
    try:
        ask()
    except kind:
        return
    raise AssertionError(f"no {kind.__name__}")


CLIENTS = {
    "gemini": (google_whole, google_streamed, google_tools, google_error, google_counts),
    "bedrock": (bedrock_whole, bedrock_streamed, bedrock_tools, bedrock_error),
    "openai_chat": (openai_chat,),
    "openai_responses": (openai_responses,),
    "anthropic": (anthropic_messages,),
}

# The requests.

MODELS = {
    "anthropic": ("anthropic:claude-sonnet-4-5", ""),
    "openai_chat": ("openai-chat:gpt-4.1", "/v1"),
    "openai_responses": ("openai-responses:gpt-5", "/v1"),
    "gemini": ("gemini:gemini-2.5-flash", ""),
    "bedrock": ("bedrock:anthropic.claude-sonnet-4-5-20250929-v1:0", ""),
}


def written(wire: str) -> list[dict[str, Any]]:
    """The bodies of two runs: one with tools and a picture, one with a typed answer."""
    name, path = MODELS[wire]
    with WireServer([calls(*TWO), text("Done."), text('{"name": "Oslo", "people": 717710}')]) as server:
        model = Model(name, base_url=server.url + path, **({} if wire == "bedrock" else {"api_key": "k"}))
        agent = Agent(model, tools=[population], instructions="Be brief.", settings={"max_tokens": 4000})
        agent.run_sync(["What is this?", Image.from_bytes(PICTURE, "image/png")])
        Agent(model, tools=[population], output_type=City, settings={"effort": "low"}).run_sync("The city?")
        return [request["body"] for request in server.requests]


def strictly(modules: Iterable[Any]) -> None:
    """Has the typed dicts of some modules refuse members that they don't know."""
    for module in modules:
        for _, one in inspect.getmembers(module):
            if inspect.isclass(one) and typing_extensions.is_typeddict(one):
                one.__pydantic_config__ = {"extra": "forbid", "arbitrary_types_allowed": True}  # type: ignore[attr-defined]


def spent(value: object) -> object:
    """Reads what is only checked while it is read."""
    if isinstance(value, Mapping):
        return {key: spent(inner) for key, inner in value.items()}
    if isinstance(value, (str, bytes)) or not isinstance(value, (Iterator, list, tuple)):
        return value
    return [spent(inner) for inner in value]


def typed(package: str, of: Any) -> Callable[[dict[str, Any]], None]:
    modules = [module for name, module in list(sys.modules.items()) if name.startswith(f"{package}.types")]
    strictly(modules)
    adapter = TypeAdapter(of)
    return lambda body: spent(adapter.validate_python({k: v for k, v in body.items() if k != "stream"})) and None


def google_typed(body: dict[str, Any]) -> None:
    rest = {key: value for key, value in body.items() if key not in ("contents", "model")}
    config = {**rest.pop("generationConfig", {}), **rest}
    for content in body["contents"]:
        genai_types.Content.model_validate(content)
    genai_types.GenerateContentConfig.model_validate(config)


def bedrock_typed(body: dict[str, Any]) -> None:
    service = botocore.session.get_session().get_service_model("bedrock-runtime")
    shape = service.operation_model("Converse").input_shape
    report = ParamValidator().validate({"modelId": "m", **raw_bytes(body)}, shape)
    if report.has_errors():
        raise AssertionError(report.generate_report())


def raw_bytes(value: Any) -> Any:
    """Bytes as the client is given them: it writes them as base64 itself."""
    if isinstance(value, dict):
        return {
            k: base64.b64decode(v) if k == "bytes" and isinstance(v, str) else raw_bytes(v) for k, v in value.items()
        }
    return [raw_bytes(one) for one in value] if isinstance(value, list) else value


def types() -> dict[str, Callable[[dict[str, Any]], None]]:
    from anthropic.types import message_create_params
    from openai.types.chat import completion_create_params
    from openai.types.responses import response_create_params

    return {
        "anthropic": typed("anthropic", message_create_params.MessageCreateParamsNonStreaming),
        "openai_chat": typed("openai", completion_create_params.CompletionCreateParamsNonStreaming),
        "openai_responses": typed("openai", response_create_params.ResponseCreateParamsNonStreaming),
        "gemini": google_typed,
        "bedrock": bedrock_typed,
    }


def cells(only: str = "") -> list[Cell]:
    os.environ.update({"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "s", "AWS_REGION": "us-east-1"})
    found = []
    for wire, checks in CLIENTS.items():
        for check in checks:
            with WireServer() as server:
                try:
                    check(server)
                    wrong = []
                except Exception as error:
                    wrong = [f"{type(error).__name__}: {error!s:.200}"]
            found.append(Cell("clients", wire, check.__name__, wrong))
    for wire, check_body in types().items():
        for at, body in enumerate(written(wire)):
            try:
                check_body(body)
                wrong = []
            except (ValidationError, AssertionError) as error:
                wrong = [" ".join(str(error).split())[:600]]
            found.append(Cell("types", wire, f"request {at + 1}", wrong))
    return [cell for cell in found if only in f"{cell.judge} {cell.wire}"]


if __name__ == "__main__":
    for cell in cells(sys.argv[1] if len(sys.argv) > 1 else ""):
        if cell.wrong:
            print(cell.judge, "|", cell.wire, "|", cell.case, "|", "; ".join(cell.wrong))
