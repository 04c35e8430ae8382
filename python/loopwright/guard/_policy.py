"""`Policy`: what people have said may run, in rules that are read from TOML files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from loopwright import _core
from loopwright._dataclasses import dataclass
from loopwright._fields import made
from loopwright._repr import redacted_repr
from loopwright.errors import UsageError

from ._commands import commands_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ._commands import Commands

__all__ = ["Decision", "Policy", "PolicyError", "Rule"]

Tier: TypeAlias = Literal["built_in", "project", "user", "admin"]
Verdict: TypeAlias = Literal["allow", "ask", "forbid"]

_NAME = "policy.toml"
_TIERS: tuple[str, ...] = get_args(Tier)
_LEVELS = ("safe", "cautious", "confirm", "dangerous")
_CAUTIOUS = ("run", "intent", "ask")


class PolicyError(UsageError):
    """A file that is no policy: nothing of it holds, and what was loaded before stays as it is.

    `code` says what is wrong: `policy_syntax`, `unknown_key`, `unknown_level`, `missing_examples`, `example_failed`,
    `invalid_regex`, `invalid_rule`, `duplicate_rule`, `unknown_rule` and the like.
    """

    file: str = ""
    """The file."""
    line: int = 0
    """From 1."""
    column: int = 0
    """From 1, in characters."""
    rule: str | None = None
    """The id of the rule, where it is known."""


@dataclass(frozen=True)
class Rule:
    """A rule of a policy."""

    id: str
    tier: Tier
    verdict: Verdict
    why: str
    file: str
    line: int


@dataclass(frozen=True)
class Decision:
    """What may be done with a call, and what was seen of it."""

    verdict: Verdict
    """`allow`: it may run. `ask`: a person is asked. `forbid`: it may not run."""
    risk: str
    """How much harm it may do: `safe`, `cautious`, `confirm` or `dangerous`."""
    by: str
    """What decided: `policy`, `risk`, `intent`, `unparsed`, `sensitivity`, `quotation`, `disguise` or `origin`."""
    rules: tuple[str, ...]
    """The rules that decided: `tier:id` of a policy, `risk:id` of the risk rules."""
    part: str | None
    """The part of the call that decided."""
    span: tuple[int, int] | None
    """Its bytes in the shell line."""
    why: str
    """Why, in words."""
    touches: tuple[str, ...] = ()
    """What it would touch, where a person is asked."""
    secret: bool = False
    """Whether it holds a secret that would leave."""


class Policy:
    r"""Rules in tiers: `built_in` < `project` < `user` < `admin`.

    ::

        policy = Policy.load("policy.toml")
        policy.decide("shell", {"command": "git push --force"}).verdict

    Of all rules that match, the strictest holds, whatever its tier; an allow counts only if it covers every command of
    a line. Where no rule matches, risk decides. A rule:

    >>> policy = Policy.from_toml('''
    ... [[rule]]
    ... id = "no-push"
    ... verdict = "forbid"
    ... why = "releases are made elsewhere"
    ... shell = ["git", "push"]
    ... [rule.examples]
    ... match = ["git push origin main", "git -C lib push"]
    ... no_match = ["git status", "echo git push"]
    ... ''')
    >>> decision = policy.decide("shell", {"command": "make && git push"})
    >>> decision.verdict, decision.rules, decision.part
    ('forbid', ('user:no-push',), 'git push')

    Each rule carries examples, which are checked when it is loaded. A file that is broken raises `PolicyError`, which
    names file, line, column and rule.
    """

    __slots__ = ("_core",)

    def __init__(self) -> None:
        self._core = _core.Policy.built_in()

    @classmethod
    def _of(cls, sources: list[tuple[str, str, str]]) -> Policy:
        policy = cls.__new__(cls)
        policy._core = _core.Policy(sources)  # noqa: SLF001
        return policy

    @classmethod
    def load(cls, *paths: str | os.PathLike[str] | tuple[Tier, str | os.PathLike[str]], tier: Tier = "user") -> Policy:
        """The rules of these files, beside the built-in ones.

        A path may come with a tier of its own: `Policy.load("mine.toml", ("project", ".loopwright/policy.toml"))`.
        """
        found = []
        for given in paths:
            match given:
                case (whose, path):
                    found.append(_source(path, whose))
                case tuple():
                    message = f"{given!r:.100} is no tier with a path"
                    raise UsageError(message, "invalid_value", 'give ("project", "policy.toml")')
                case path:
                    found.append(_source(path, tier))
        # All at once: a file may override rules of one that is named after it.
        return cls._of([*cls()._core.sources, *found])  # noqa: SLF001 - a part of ours

    @classmethod
    def from_toml(cls, text: str, *, tier: Tier = "user", name: str = "<text>") -> Policy:
        """The rules of a text, beside the built-in ones."""
        return cls().with_toml(text, tier=tier, name=name)

    @classmethod
    def discover(cls, workspace: str | os.PathLike[str] = ".") -> Policy:
        """The rules of the usual places, where there are any.

        `/etc/loopwright/policy.toml` is the admin's, `~/.config/loopwright/policy.toml` (or below `$XDG_CONFIG_HOME`)
        the user's, `.loopwright/policy.toml` in the workspace the project's. A file that is there and can't be read is
        an error.
        """
        config = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
        places: list[tuple[Tier, Path]] = [
            ("project", Path(_path(workspace, "workspace")) / ".loopwright" / _NAME),
            ("user", Path(config) / "loopwright" / _NAME),
            ("admin", Path("/etc/loopwright") / _NAME),
        ]
        policy = cls()
        for tier, path in places:
            if os.path.lexists(path):
                policy = policy.with_file(path, tier=tier)
        return policy

    def with_file(self, path: str | os.PathLike[str], *, tier: Tier = "user") -> Policy:
        """This policy and the rules of one more file."""
        tier, name, text = _source(path, tier)
        return self.with_toml(text, tier=tier, name=name)

    def with_toml(self, text: str, *, tier: Tier = "user", name: str = "<text>") -> Policy:
        """This policy and the rules of a text."""
        if not isinstance(text, str):
            message = f"a policy is TOML text, not {type(text).__name__}"
            raise UsageError(message, "invalid_value", "give text")
        if not isinstance(name, str):
            message = f"the name of a policy is text, not {type(name).__name__}"
            raise UsageError(message, "invalid_value", "give what errors should call it")
        _tier(tier, name)
        return self._of([*self._core.sources, (tier, name, text)])

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules, file by file."""
        return tuple(Rule(**rule) for rule in json.loads(self._core.rules()))

    @property
    def digest(self) -> str:
        """What all the text comes to: it stands in journals, and a replay with another policy is refused."""
        return self._core.digest

    @property
    def sandbox(self) -> bool | None:
        """Whether commands run fenced, by the word of the highest tier that has one: `sandbox = false` in a file of the
        user or the admin takes the fence away, `sandbox = true` of the admin has it stand whatever an agent says.
        """
        said = self._core.sandbox
        return None if said is None else said[1]

    def decide(
        self,
        call: Any,
        arguments: Mapping[str, Any] | None = None,
        *,
        risk: str = "cautious",
        by_arguments: bool = True,
        home: str | os.PathLike[str] | None = None,
        workspace: str | os.PathLike[str] | None = None,
        cautious: str = "run",
        task: str | None = None,
        commands: Commands | str | os.PathLike[str] | None = None,
    ) -> Decision:
        """What may be done with a call.

        Args:
            call: The name of a tool, with `arguments`; or anything with `name` and `arguments`; or a dict of the two.
            arguments: The arguments of the call.
            risk: What the tool is declared as.
            by_arguments: Whether its arguments may show that a call is less than that, as for a shell.
            home: What `~` stands for; without it, this process's home folder.
            workspace: What relative paths start from; without it, the current folder.
            cautious: What cautious calls need: `"run"` nothing where `risk` is no more, `"intent"` a word of `task`
                that names their verb or their target, `"ask"` a person.
            task: What the user said, for `"intent"`. Give the user's own words and nothing else.
            commands: What programs do that the guard does not know.
        """
        name, given = _name_and_arguments(call, arguments)
        records = commands_of(commands, "commands")
        text = self._core.decide(
            name,
            given,
            risk=_one_of(risk, "risk", _LEVELS, f"the call of {name!r:.100}"),
            by_arguments=bool(by_arguments),
            home=_path(home, "home") if home is not None else str(Path.home()),
            workspace=str(Path(_path(workspace, "workspace") if workspace is not None else ".").absolute()),
            cautious=_one_of(cautious, "cautious", _CAUTIOUS, f"the call of {name!r:.100}"),
            task=_task(task),
            commands=None if records is None else records._core,  # noqa: SLF001 - a part of ours
        )
        return decision_from(json.loads(text))

    def __eq__(self, other: object) -> bool:
        return self._core == other._core if isinstance(other, Policy) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._core)

    def __repr__(self) -> str:
        return f"<Policy of {len(self.rules)} rules, {self.digest[:12]}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Policy._of, (self._core.sources,))


def decision_from(judged: Mapping[str, Any]) -> Decision:
    """A decision in the form in which the core tells it."""
    span = judged.get("span")
    return made(Decision, {"part": None, **judged}, span=None if span is None else (span["start"], span["end"]))


def _source(path: str | os.PathLike[str], tier: Tier) -> tuple[Tier, str, str]:
    """A file of rules: whose it is, its name, its text."""
    name = _path(path, "the path of a policy")
    _tier(tier, name)
    try:
        # Line ends as in any text file: a policy is the same wherever it was written.
        text = Path(name).read_bytes().decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        before = error.object[: error.start]
        line, column = before.count(b"\n") + 1, len(before) - (before.rfind(b"\n") + 1) + 1
        message = f"{name}:{line}:{column}: the byte 0x{error.object[error.start]:02x} is no UTF-8"
        wrong = PolicyError(message, "policy_unreadable", "save the file as UTF-8")
        wrong.file, wrong.line, wrong.column = name, line, column
        raise wrong from error
    except (OSError, ValueError) as error:
        # A name that no file can have, or bytes that are no text.
        reason = getattr(error, "strerror", None) or str(error)
        wrong = PolicyError(f"{name}: the policy can't be read: {reason}", "policy_unreadable", "give a TOML file")
        wrong.file = name
        raise wrong from error
    return tier, name, text


def policy_of(given: object) -> _core.Policy:
    """What an option `policy` means."""
    if given is None:
        return _core.Policy.built_in()
    if isinstance(given, Policy):
        return given._core  # noqa: SLF001 - a part of ours
    if isinstance(given, (str, os.PathLike)):
        return Policy.load(given)._core  # noqa: SLF001
    message = f"policy can't be {given!r:.100}"
    raise UsageError(message, "invalid_option", "give a loopwright.guard.Policy, or the path of a TOML file")


def _one_of(given: object, what: str, known: tuple[str, ...], where: str) -> str:
    """A word that is text; whether it is a known one is for the core to say."""
    if isinstance(given, str):
        return given
    message = f"{where}: {what} is {type(given).__name__}, not text"
    raise UsageError(message, "invalid_value", f"give one of {', '.join(known)}")


def _tier(given: object, name: str) -> None:
    if not isinstance(given, str):
        message = f"{name}: tier is {type(given).__name__}, not text"
        wrong = PolicyError(message, "invalid_value", f"give one of {', '.join(_TIERS)}")
        wrong.file = name
        raise wrong


def _path(given: object, what: str) -> str:
    path = os.fspath(given) if isinstance(given, (str, os.PathLike)) else None
    if isinstance(path, str):
        return path
    message = f"{what} can't be {given!r:.100}"
    raise UsageError(message, "invalid_value", "give a path as text or a pathlib.Path")


def _task(given: object) -> str | None:
    if given is None or isinstance(given, str):
        return given
    message = f"task is {type(given).__name__}, not text"
    raise UsageError(message, "invalid_value", "give what the user said")


def _name_and_arguments(call: Any, arguments: Mapping[str, Any] | None) -> tuple[str, Any]:
    name: Any
    given: Any
    if isinstance(call, str):
        name, given = call, arguments if arguments is not None else {}
    elif isinstance(call, dict):
        name, given = call.get("name"), call.get("arguments", call.get("input", {}))
    else:
        name = getattr(call, "name", None)
        given = getattr(call, "arguments", None)
        if given is None:
            given = getattr(call, "input", {})
    if not isinstance(name, str):
        message = f"{call!r:.100} is no call"
        raise UsageError(message, "invalid_value", "give the tool's name and its arguments")
    return name, given


redacted_repr(Decision)
