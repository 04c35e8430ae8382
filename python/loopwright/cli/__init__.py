"""The command line: `loopwright ask`, `loopwright run`, `loopwright replay`.

Answers go to stdout, progress and questions to stderr. What comes from a model, a tool or a file is shown without its
control characters. The exit code says how a run ended.
"""

from __future__ import annotations

from .main import main

__all__ = ["main"]
