"""The arguments of each command."""

from __future__ import annotations

import argparse
import shutil
import sys
from typing import TYPE_CHECKING, NoReturn

from .commands import COMMANDS
from .text import wrap

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["parser"]

_RUN = "the name of a run, its beginning, or the path of a journal"
_DEFAULT = " (default: that of the project)"
_WHERE = "where the journals are: a store or a folder" + _DEFAULT
_MOST = 10_000
_DAY = 86_400.0
_PAGES = "how it may end: loopwright help exit-codes\nwhere things are written: loopwright help files"


class _Version(argparse.Action):
    """`--version`, without loading the extension module for anything else."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from loopwright import __version__

        sys.stdout.write(f"loopwright {__version__}\n")
        parser.exit()


class _Help(argparse.Action):
    """`--help` of the whole: what `loopwright` alone says."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from .overview import overview

        overview()
        parser.exit()


def parser() -> argparse.ArgumentParser:
    """What reads the arguments; nothing is loaded for it but the names of the commands."""
    whole = argparse.ArgumentParser(prog="loopwright", add_help=False, allow_abbrev=False)
    whole.add_argument("-h", "--help", action=_Help, nargs=0, help="show what can be done")
    whole.add_argument("--version", action=_Version, nargs=0, help="show the version")
    # For `loopwright` alone.
    whole.set_defaults(json=False, topic=None)
    commands = whole.add_subparsers(dest="command", metavar="COMMAND")
    columns = shutil.get_terminal_size().columns - 2
    for name, command in COMMANDS.items():
        description = f"{command.summary[0].upper()}{command.summary[1:]}."
        _ARGUMENTS[name](
            commands.add_parser(
                name,
                help=command.summary,
                description=wrap(description, columns),
                epilog="\n".join([wrap(f"example: {command.example}", columns, margin=9), _PAGES]),
                formatter_class=argparse.RawDescriptionHelpFormatter,
                allow_abbrev=False,
            )
        )
    return whole


def _help_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "topic",
        nargs="?",
        choices=[*COMMANDS, "exit-codes", "files"],
        metavar="COMMAND|TOPIC",
        help="a command, exit-codes, or files",
    )
    parser.set_defaults(json=False)


def _ask_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("question", type=_text, metavar="QUESTION")
    parser.add_argument(
        "--in", dest="folders", action="append", required=True, metavar="FOLDER", help="where to look; may be repeated"
    )
    _model_arguments(parser, "offline:extractive, which is not an LLM and needs neither key nor network")
    parser.add_argument(
        "--profile",
        choices=("plain", "markdown", "slack"),
        default="plain",
        help="how the answer is written (default: plain)",
    )
    parser.add_argument("--attempts", type=_count, metavar="N", help="drafts at most (default: 3)")
    parser.add_argument("--trace", action="store_true", help="show each phase and what came of it")
    _common_arguments(parser)


def _run_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("task", type=_text, metavar="TASK")
    _work_arguments(parser)
    _common_arguments(parser)


def _chat_arguments(parser: argparse.ArgumentParser) -> None:
    _work_arguments(parser)
    parser.add_argument(
        "--resume",
        nargs="?",
        const="",
        metavar="RUN",
        help="go on with the conversation of this run; without a name, with the last one",
    )
    parser.add_argument(
        "--idle",
        type=_seconds,
        default=300.0,
        metavar="S",
        help="after so many seconds without a word from you the conversation is checked once (default: 300)",
    )
    parser.add_argument("--max-time", type=_seconds, metavar="S", help="seconds of one answer at most; 90, 90s, 5m")
    parser.add_argument("--journal", metavar="PLACE", help="the store that keeps the conversation" + _DEFAULT)
    parser.add_argument("--no-journal", action="store_true", help="keep nothing: it can't be resumed then")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.set_defaults(json=False)


def _work_arguments(parser: argparse.ArgumentParser) -> None:
    _model_arguments(parser, "$LOOPWRIGHT_MODEL; one of the two is needed")
    parser.add_argument(
        "--workspace", default=".", metavar="DIR", help="the folder that the tools work in (default: this one)"
    )
    parser.add_argument(
        "--max-rounds", type=_count, metavar="N", help="rounds of tools at most (default: while there is progress)"
    )
    parser.add_argument("--no-shell", action="store_true", help="leave the shell out")
    parser.add_argument(
        "--policy",
        action="append",
        default=[],
        metavar="FILE",
        help="rules for calls, beside those of the usual places",
    )
    parser.add_argument(
        "--cautious",
        choices=("run", "intent", "ask"),
        default="intent",
        help="what calls that change something need: nothing, a word of the task, or a person (default: intent)",
    )
    parser.add_argument("--system", metavar="TEXT", help="instructions in place of the built-in ones")
    parser.add_argument("--memory", metavar="FILE", help="remember what is told and done, in this file")


def _research_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("question", type=_text, metavar="QUESTION")
    parser.add_argument(
        "--in", dest="folders", action="append", default=[], metavar="FOLDER", help="where to look; may be repeated"
    )
    parser.add_argument(
        "--search",
        action="append",
        default=[],
        metavar="PROVIDER",
        help="a search engine: searxng:URL, brave, tavily, or the provider's own through one of its models, as "
        "anthropic:NAME or openai-responses:NAME (keys from the environment); may be repeated",
    )
    _model_arguments(parser, "offline:extractive, which is not an LLM and needs neither key nor network")
    parser.add_argument(
        "--style", choices=("detailed", "summary", "progress"), default="detailed", help="how much is written out"
    )
    parser.add_argument("--cycles", type=_count, metavar="N", help="cycles at most (default: 5)")
    parser.add_argument("--out", metavar="FILE", help="write the report there: .md, .html or .json by its ending")
    _common_arguments(parser)


def _show_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help=_RUN)
    parser.add_argument("--html", metavar="FILE", help="write one page that needs nothing else; - for stdout")
    parser.add_argument("--against", metavar="RUN", help="also show where this other run parts from it")
    parser.add_argument("--journal", metavar="PLACE", help=_WHERE)
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")


def _replay_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="RUN", help=_RUN)
    parser.add_argument("--journal", metavar="PLACE", help=_WHERE)
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--steps", action="store_true", help="show what each event led to")
    parser.add_argument("--commands", action="store_true", help="print every command in the journal's form")
    parser.add_argument("--trace", action="store_true", help="show each round: request, answer, decision, calls")
    parser.add_argument("--drift", action="store_true", help="show when the conversation left its goal, and came back")


def _resume_arguments(parser: argparse.ArgumentParser) -> None:
    _past_arguments(parser)
    parser.add_argument("--base-url", metavar="URL", help="the server, where it is another one by now")
    parser.add_argument(
        "--on-divergence",
        choices=("error", "fork"),
        default="error",
        help="where this version decides otherwise than the one that wrote the run: stop, or go on in a new run",
    )


def _answer_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help=_RUN)
    parser.add_argument("answer", type=_text, metavar="TEXT", help='the answer; "go on" where nothing was asked')
    parser.add_argument("--base-url", metavar="URL", help="the server, where it is another one by now")
    _place_arguments(parser)


def _fork_arguments(parser: argparse.ArgumentParser) -> None:
    _past_arguments(parser)
    parser.add_argument("--at", type=_event, required=True, metavar="N", help="keep the events up to this one")
    parser.add_argument("--prompt", type=_text, metavar="TEXT", help="go on with another prompt")
    parser.add_argument("--result", metavar="TEXT", help="what the tool gave instead, where event N is its result")
    _model_arguments(parser, "that of the run")


def _past_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help=_RUN)
    _place_arguments(parser)


def _place_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--journal", metavar="PLACE", help=_WHERE)
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--quiet", action="store_true", help="no progress")


def _diff_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("left", metavar="A", help=_RUN)
    parser.add_argument("right", metavar="B", help="the other")
    parser.add_argument("--journal", metavar="PLACE", help=_WHERE)
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")


def _runs_arguments(parser: argparse.ArgumentParser) -> None:
    views = ("list", "start", "show", "answer", "cancel")
    parser.add_argument("view", nargs="?", choices=views, default="list", help="what to do (default: list)")
    parser.add_argument("what", nargs="?", type=_text, metavar="RUN|PROMPT", help="a run; for start, what it is to do")
    parser.add_argument("words", nargs="?", type=_text, metavar="yes|no|REASON", help="answer: what the person says")
    parser.add_argument("--call", type=_text, metavar="ID", help="answer: which call (default: the only one)")
    parser.add_argument("--run-id", type=_text, metavar="NAME", help="start: the name of what shall be done once")
    parser.add_argument("--queue", default="default", metavar="NAME", help="start: whose workers (default: default)")
    parser.add_argument("--journal", metavar="PLACE", help=_WHERE)
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")


def _memory_arguments(parser: argparse.ArgumentParser) -> None:
    views = ("list", "why", "forget", "work", "reflections")
    parser.add_argument("view", nargs="?", choices=views, default="list", help="what to show (default: list)")
    parser.add_argument("query", nargs="?", type=_text, metavar="WORDS|NUMBER", help="what to look for, or a memory")
    parser.add_argument("--memory", metavar="FILE", help="the store (default: that of the project)")
    parser.add_argument("--limit", type=_count, metavar="N", help="so many at most (default: 50)")
    parser.add_argument("--erase", action="store_true", help="forget: overwrite the words too")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")


def _forget_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--user", type=_text, required=True, metavar="NAME", help="whose; letter by letter")
    place = "a store, a folder or a file of journals; may be repeated"
    parser.add_argument("--journal", action="append", default=[], metavar="PLACE", help=place)
    both = "a memory (without --journal and --memory: the store of the project, as both)"
    parser.add_argument("--memory", metavar="FILE", help=both)
    parser.add_argument("--dry-run", action="store_true", help="show what would go, and delete nothing")
    parser.add_argument("--yes", action="store_true", help="delete without a question")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")


def _audit_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--memory", metavar="FILE", help="the store (default: that of the project)")
    parser.add_argument("--session", type=_text, metavar="NAME", help="of this session alone")
    parser.add_argument("--turn", type=_text, metavar="RUN", help="of this run alone")
    parser.add_argument("--type", type=_text, metavar="TYPE", help="of this type alone")
    parser.add_argument("--last", type=_seconds, metavar="S", help="of the last so many seconds; 90, 5m, 2h")
    parser.add_argument("--limit", type=_count, metavar="N", help="the newest so many")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")


def _mcp_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("view", choices=("serve",), help="what to do")
    parser.add_argument(
        "agent", nargs="?", metavar="FILE:NAME", help="the agent: a file or module, and a variable in it"
    )
    parser.add_argument(
        "--in", dest="folders", action="append", default=[], metavar="FOLDER", help="answer questions from there, too"
    )
    parser.add_argument(
        "--model", metavar="PROVIDER:NAME", help="who writes those answers (default: offline:extractive)"
    )
    parser.add_argument("--name", default="loopwright", metavar="NAME", help="what the server is called")
    parser.add_argument("--http", type=_port, metavar="PORT", help="listen there; standard streams otherwise")
    parser.add_argument(
        "--host", default="127.0.0.1", metavar="HOST", help="the address to listen at (default: 127.0.0.1)"
    )
    parser.add_argument("--no-rooms", action="store_true", help="leave extract, compress, count and assess out")
    parser.set_defaults(json=False)


def _worker_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("agent", metavar="FILE:NAME", help="the agent: a file or module, and a variable in it")
    parser.add_argument("--journal", metavar="URL", help="the database, postgresql://… (default: $LOOPWRIGHT_JOURNAL)")
    parser.add_argument(
        "--concurrency", type=_count, default=64, metavar="N", help="runs at the same time (default: 64)"
    )
    parser.add_argument("--queue", default="default", metavar="NAME", help="which runs (default: default)")
    lease = "another worker goes on with a run after so many seconds without a sign of life (default: 30)"
    parser.add_argument("--lease", type=_seconds, default=30.0, metavar="S", help=lease)
    parser.add_argument("--until-empty", action="store_true", help="end when no run is left")
    parser.set_defaults(json=False)


def _serve_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model",
        metavar="MODEL",
        help="provider:name, or FILE.py:NAME, a variable that holds a Model or a dict of them by name",
    )
    parser.add_argument("--base-url", metavar="URL", help="another server than the provider's own")
    parser.add_argument("--api-key-env", metavar="VAR", help="the variable that holds the provider's key")
    parser.add_argument(
        "--fallback", action="append", default=[], metavar="PROVIDER:NAME", help="who is asked next; may be repeated"
    )
    parser.add_argument(
        "--host", default="127.0.0.1", metavar="HOST", help="the address to listen at (default: 127.0.0.1)"
    )
    parser.add_argument(
        "--port", type=_own_port, default=8000, metavar="PORT", help="the port (default: 8000), or 0 for a free one"
    )
    parser.add_argument(
        "--key-env", metavar="VAR", help="the variable with the key that clients must have; needed beyond this machine"
    )
    parser.add_argument("--context", type=_tokens, metavar="N", help="compact requests to so many tokens")
    parser.add_argument("--policy", metavar="FILE", help="rules for calls: those that it forbids reach no client")
    parser.add_argument(
        "--whole", action="store_true", help="send streams when the answer is whole: no torn stream is seen then"
    )
    parser.set_defaults(json=False)


def _eval_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="CASES", help="a file of cases (.yaml, .json, .jsonl), or a journal or store")
    parser.add_argument(
        "agent",
        nargs="?",
        metavar="FILE:NAME",
        help="the agent: a file or module, and a variable in it; without one recorded runs are replayed",
    )
    parser.add_argument(
        "--with",
        dest="runner",
        choices=("pydantic-evals", "inspect"),
        default="pydantic-evals",
        help="who runs a file of cases (default: pydantic-evals)",
    )
    parser.add_argument("--live", action="store_true", help="ask the model anew, where CASES are recorded runs")
    _model_arguments(parser, "the agent's own")
    parser.add_argument(
        "--case", dest="cases", action="append", default=[], metavar="NAME", help="this one alone; may be repeated"
    )
    parser.add_argument("--at-once", type=_count, metavar="N", help="so many cases at once (default: 4)")
    parser.add_argument("--log-dir", default="logs", metavar="DIR", help="where inspect writes its log (default: logs)")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")


def _doctor_arguments(parser: argparse.ArgumentParser) -> None:
    _model_arguments(parser, "$LOOPWRIGHT_MODEL")
    parser.add_argument(
        "--workspace", default=".", metavar="DIR", help="the folder whose policies are looked at (default: this one)"
    )
    parser.add_argument("--commands", metavar="FILE", help="check these records of programs, and say what they replace")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")


def _models_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "name",
        nargs="?",
        type=_text,
        metavar="NAME",
        help="a provider, a part of names, or provider:model for all of one",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")


def _model_arguments(parser: argparse.ArgumentParser, default: str) -> None:
    parser.add_argument("--model", metavar="PROVIDER:NAME", help=f"the model (default: {default})")
    parser.add_argument("--base-url", metavar="URL", help="another server than the provider's own")


def _common_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--max-time", type=_seconds, metavar="S", help="seconds at most; 90, 90s, 5m")
    place = "where the journal goes: a store, a folder, or a new file that ends in .jsonl" + _DEFAULT
    parser.add_argument("--journal", metavar="PLACE", help=place)
    parser.add_argument("--no-journal", action="store_true", help="write no journal")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--quiet", action="store_true", help="no progress")


def _text(given: str) -> str:
    # What the locale could not decode is no reason to fail.
    text = given.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if not text.strip():
        message = "it is empty"
        raise argparse.ArgumentTypeError(message)
    return text


def _event(given: str) -> int:
    number = int(given) if given.isdecimal() and given.isascii() and len(given) <= 18 else 0
    if number < 1:
        message = f"{given!r} is no number of an event"
        raise argparse.ArgumentTypeError(message)
    return number


def _port(given: str) -> int:
    number = int(given) if given.isdecimal() and given.isascii() and len(given) <= 5 else 0
    if not 0 < number < 65536:
        message = f"{given!r} is no port"
        raise argparse.ArgumentTypeError(message)
    return number


def _own_port(given: str) -> int:
    return 0 if given == "0" else _port(given)


def _tokens(given: str) -> int:
    number = int(given) if given.isdecimal() and given.isascii() and len(given) <= 9 else 0
    if number < 1:
        message = f"{given!r} is no number of tokens"
        raise argparse.ArgumentTypeError(message)
    return number


def _count(given: str) -> int:
    try:
        count = int(given)
    except ValueError:
        count = 0
    if not 1 <= count <= _MOST:
        message = f"{given!r} is no number from 1 to {_MOST}"
        raise argparse.ArgumentTypeError(message)
    return count


def _seconds(given: str) -> float:
    units = {"s": 1.0, "m": 60.0, "h": 3600.0}
    number, unit = (given[:-1], units[given[-1]]) if given[-1:] in units else (given, 1.0)
    try:
        found = float(number) * unit
    except ValueError:
        found = 0.0
    if not 0 < found <= _DAY:
        message = f"{given!r} is no time; say 90, 90s or 5m"
        raise argparse.ArgumentTypeError(message)
    return found


_ARGUMENTS: dict[str, Callable[[argparse.ArgumentParser], None]] = {
    "chat": _chat_arguments,
    "run": _run_arguments,
    "ask": _ask_arguments,
    "research": _research_arguments,
    "runs": _runs_arguments,
    "show": _show_arguments,
    "resume": _resume_arguments,
    "answer": _answer_arguments,
    "fork": _fork_arguments,
    "diff": _diff_arguments,
    "replay": _replay_arguments,
    "memory": _memory_arguments,
    "audit": _audit_arguments,
    "forget": _forget_arguments,
    "doctor": _doctor_arguments,
    "models": _models_arguments,
    "worker": _worker_arguments,
    "mcp": _mcp_arguments,
    "serve": _serve_arguments,
    "eval": _eval_arguments,
    "help": _help_arguments,
}
