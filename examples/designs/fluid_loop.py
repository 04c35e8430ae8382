"""A loop that goes ahead where that is safe, asks where it is not, checks in, and says when it is lost."""

from __future__ import annotations

import tempfile

from loopwright import Agent, ContextPolicy, Guard, Monitor, ToolError, tool
from loopwright.events import ApprovalDecided, Assessed, Compacted, Event, SanityChecked
from loopwright.testing import ScriptedModel, call, calls

FILES = {"auth.py": "session = cookie()\n" * 300, "user.py": "class User: ...\n" * 300, "old.py": "import cookie\n"}
SCRIPT = [  # plays the executor
    calls(call("read", path="auth.py"), call("read", path="user.py")),
    *[call("write", path="auth.py", text="token = sign()\n"), call("delete", path="old.py")],
    *["The old file is gone. Next I'll delete user.py, too.", call("delete", path="user.py")],
    *[call("read", path=f"{name}.py") for name in ("jwt", "keys", "claims", "sign", "hmac", "keyring")],
    "Signing goes through keyring.py now. The task is complete.",
]


@tool(read_only=True)  # safe: runs by itself, and beside its like
def read(path: str) -> str:
    """Read a file."""
    if path not in FILES:
        raise ToolError(f"there is no file {path}")
    return FILES[path]


@tool(risk="cautious")  # runs where the user's words name it
def write(path: str, text: str) -> str:
    """Write a file."""
    return f"{path} holds {len(FILES.setdefault(path, text))} characters"


@tool(risk="confirm")  # somebody is asked
def delete(path: str) -> str:
    """Delete a file."""
    return f"{path} held {len(FILES.pop(path))} characters"


def tell(event: Event) -> None:
    match event:
        case Assessed(decision=what, saw=why) | Compacted(after=what, before=why):
            print(what, why, sep=": ")
        case ApprovalDecided(allowed=what, reason=why) | SanityChecked(on_track=what, triggers=why):
            print(f"    {type(event).__name__}: {what}, {why}")


with tempfile.TemporaryDirectory() as folder:
    agent = Agent(
        ScriptedModel(SCRIPT), tools=[read, write, delete], journal=folder,
        guard=Guard(lambda asked: asked.arguments["path"] == "old.py" or "leave that alone", on_cautious="intent"),
        context=ContextPolicy(window=3000, summarizer="rules"), monitor=Monitor(pause_every=6, sanity="rules"),
    )  # fmt: skip
    result = agent.run_sync("Make auth.py use signed tokens and remove old.py.", on_event=tell)
    for answer in ("go on", "The signing code is in keyring.py."):
        print(f"== {result.stop_reason}: {result.message}")
        result = agent.resume_sync(result, answer=answer, on_event=tell)
    assert result.summary is not None
    print(f"== {result.final}", *result.summary.timeline, sep="\n")
