"""An endpoint that speaks as OpenAI and Anthropic do, over any model: `pip install 'loopwright[serve]'`.

::

    from loopwright import Model
    from loopwright.serve import app, serve

    serve(Model("anthropic:claude-sonnet-4-5", fallback=["openai:gpt-5"]), port=8000)

`app` is a plain ASGI application, for whatever server or framework there is; `serve` runs it with uvicorn. Importing
this imports nothing of either.
"""

from __future__ import annotations

from ._app import Application, app
from ._run import serve

__all__ = ["Application", "app", "serve"]
