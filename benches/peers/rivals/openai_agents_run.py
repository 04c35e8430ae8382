"""openai-agents: `Runner` with `OpenAIChatCompletionsModel`, tracing off."""

import _path  # noqa: F401
import harness
from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

MAX_TURNS = 1_000_000


@function_tool
async def lookup(key: str) -> str:
    """Look a key up."""
    return harness.answer(key)


def fake_model(turns: int):
    from agents.items import ModelResponse
    from agents.models.interface import Model
    from agents.usage import Usage
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

    script = list(harness.scripted(turns))

    class Scripted(Model):
        async def get_response(self, system_instructions, input, *args, **kwargs):
            turn = sum(item.get("type") == "function_call" for item in input) if isinstance(input, list) else 0
            arguments = script[turn]
            if arguments is None:
                text = ResponseOutputText(type="output_text", text=harness.FINAL, annotations=[])
                item = ResponseOutputMessage(
                    id="m", type="message", role="assistant", status="completed", content=[text]
                )
            else:
                item = ResponseFunctionToolCall(
                    id=f"f{turn}", call_id=f"c{turn}", type="function_call", name="lookup", arguments=arguments
                )
            return ModelResponse(output=[item], usage=Usage(), response_id=None)

        def stream_response(self, *args, **kwargs):
            raise NotImplementedError

    return Scripted()


async def build(options):
    set_tracing_disabled(True)
    if options.offline:
        model = fake_model(options.turns)
    else:
        model = OpenAIChatCompletionsModel("fake", AsyncOpenAI(base_url=options.base_url, api_key="k"))
    agent = Agent(name="bench", model=model, tools=[lookup])

    async def run() -> harness.Outcome:
        result = await Runner.run(agent, harness.PROMPT, max_turns=MAX_TURNS)
        return harness.Outcome(result.final_output or "", 0)

    async def stream() -> harness.Outcome:
        events = 0
        result = Runner.run_streamed(agent, harness.PROMPT, max_turns=MAX_TURNS)
        async for _event in result.stream_events():
            events += 1
        return harness.Outcome(result.final_output or "", events)

    return stream if options.stream else run


if __name__ == "__main__":
    harness.main("openai-agents", ["openai-agents", "openai", "httpx2"], build)
