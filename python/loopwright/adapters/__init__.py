"""Loopwright inside of other frameworks: their agents over our models, tools and histories both ways.

Each adapter is an extra of its own, named like the package that it is for: `loopwright.adapters.pydantic_ai`,
`loopwright.adapters.langchain`, `loopwright.adapters.openai_agents`, `loopwright.adapters.litellm`. Importing one
imports nothing of the other package; its first name does, and says what to install where it is missing
(`missing_extra`) or of a version that is not known to work (`wrong_version`).
"""

from __future__ import annotations

__all__: list[str] = []
