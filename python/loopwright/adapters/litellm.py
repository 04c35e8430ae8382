"""Our models behind litellm: `pip install 'loopwright[litellm]'`.

::

    import litellm
    from loopwright.adapters.litellm import register

    register()
    litellm.completion(model="loopwright/anthropic:claude-sonnet-4-5", messages=[...])

Attempts, fallback models, torn streams and broken arguments are the engine's; all else is litellm's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._litellm import LoopwrightLLM, register

__all__ = ["LoopwrightLLM", "register"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            message = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(message)
        from loopwright._extras import need

        need("litellm", __name__, extra="litellm", oldest="1.98", below="2")
        from . import _litellm

        return getattr(_litellm, name)
