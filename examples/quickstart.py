"""An agent without key and network: the offline model quotes the sentences that answer a question.

It is no language model; it is there to try things out and to test. Put the name of a real one in its place:
`anthropic:claude-sonnet-4-5`, `openai:gpt-5`, `ollama:qwen3`, …
"""

from __future__ import annotations

import sys

from loopwright import Agent

NOTES = """\
The kiln is fired on Thursdays. Glazes are mixed on Wednesday evening, because they must rest for twelve hours.
Ask Ines for the key; the spare one hangs behind the door.
"""


def main() -> None:
    model = sys.argv[1] if len(sys.argv) > 1 else "offline:extractive"
    agent = Agent(model, instructions="Answer from what you are given.")
    source = {"text": {"media_type": "text/plain", "data": NOTES}}
    notes = {"type": "document", "name": "notes.md", "source": source}
    result = agent.run_sync([notes, "When are glazes mixed, and why?"])
    print(result.final)
    print(f"[{result.model}: {result.stop_reason}, {result.rounds} round, {result.duration:.2f} s]")


if __name__ == "__main__":
    main()
