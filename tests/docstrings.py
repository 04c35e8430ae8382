"""What the site shows of the package: docstrings with sessions at a prompt as blocks of code, and dataclasses as such.

Called by mkdocstrings.
"""

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


# Where the package has the names of `dataclasses` from.
LATE, THEIRS = "loopwright._dataclasses", "dataclasses"


def known(module: griffe.Module) -> None:
    """Lets the decorator and the fields of a module, and of those inside it, be those of `dataclasses`."""
    for member in module.members.values():
        if member.is_alias and member.target_path.startswith(f"{LATE}."):
            member.target_path = member.target_path.replace(LATE, THEIRS, 1)
        elif isinstance(member, griffe.Module):
            known(member)


class Docstrings(griffe.Extension):
    """What mkdocstrings loads."""

    def on_package(self, *, pkg: griffe.Module, **_rest: Any) -> None:
        """Comes before what reads dataclasses."""
        known(pkg)

    def on_object(self, *, obj: griffe.Object, **_rest: Any) -> None:
        """Changes the docstring of a class, a function, a module or a field, before it is read."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
