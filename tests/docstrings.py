"""Docstrings as the site shows them: sessions at a prompt become blocks of code, and `::` goes. Called by mkdocstrings."""

from __future__ import annotations

import re
from typing import Any

import griffe

SESSION = re.compile(r"(?:^ *>>> .*\n?(?:^(?! *$).*\n?)*)+", re.MULTILINE)


def fenced(text: str) -> str:
    """The text with each session in a fence.

    >>> fenced("It adds.\\n\\n>>> 1 + 1\\n2\\n\\nNo more.")
    'It adds.\\n\\n```pycon\\n>>> 1 + 1\\n2\\n```\\n\\nNo more.'
    """
    said = SESSION.sub(lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", text)
    return re.sub(r"^ *::\n|(?<=:):$", "", said, flags=re.MULTILINE).rstrip("\n")


class Docstrings(griffe.Extension):
    """What mkdocstrings loads."""

    def on_object(self, *, obj: griffe.Object, **_rest: Any) -> None:
        """Changes the docstring of a class, a function, a module or a field, before it is read."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
