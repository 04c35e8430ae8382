"""What keeps the house small: `python tests/gates.py` names each file, struct and list that is over a limit.

What is over one today stands in `gates.txt`, a line each with its size, and that file only shrinks: what grew beyond its
line fails, and so does a line that nothing needs any more. `--write` strikes lines and lowers sizes; it adds none.
`--count [FOLDER]` prints the lines of each crate of this project, or of another copy of it: all, and those of code.

The limits: 800 lines a file, 120 columns a line, 16 fields a struct, 12 words a Rust item outside of data files (string
literals, and each side of `a|b` in a pattern), no type name twice in a crate, no circle of imports over five files.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
KNOWN = ROOT / "tests" / "gates.txt"
LINES, COLUMNS, FIELDS, WORDS, CIRCLE = 800, 120, 16, 12, 5

_TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<text>b?r(?P<marks>\#*)".*?"(?P=marks)|b?"(?:\\.|[^"\\])*")
    |(?P<char>b?'(?:\\u\{[^}]*\}|\\x..|\\.|[^\\'\n])')|(?P<lifetime>'[A-Za-z_]\w*)|(?P<name>[A-Za-z_]\w*)|(?P<mark>\S)""",
    re.DOTALL | re.VERBOSE,
)
_WORD = re.compile(r"[^\W\d_][\w'\u2019.-]*(?: [\w'\u2019-]+){0,3}")


class Token:
    """A piece of Rust."""

    def __init__(self, match: re.Match[str]) -> None:
        self.kind = match.lastgroup if match.lastgroup != "marks" else "text"
        self.text = match.group(0)


def tokens(source: str) -> list[Token]:
    """The pieces of Rust without its comments and without tests at the end of the file."""
    source = source.partition("#[cfg(test)]\nmod ")[0]
    return [token for token in map(Token, _TOKEN.finditer(source)) if token.kind != "comment"]


def bodies(pieces: list[Token]) -> Iterator[tuple[str, str, list[Token]]]:
    """Each struct, function, constant and static with its name and what stands in it."""
    for at, token in enumerate(pieces[:-1]):
        if token.kind != "name" or token.text not in ("struct", "fn", "const", "static", "enum"):
            continue
        name = pieces[at + 1]
        if name.kind != "name" or name.text in ("fn", "unsafe", "mut"):
            continue
        depth, inside, end = 0, False, at + 2
        while end < len(pieces):
            text = pieces[end].text if pieces[end].kind == "mark" else ""
            depth += (text in ("{", "(", "[")) - (text in ("}", ")", "]"))
            inside = inside or text == "{"
            if (text == ";" and depth == 0) or (text == "}" and depth == 0 and token.text not in ("const", "static")):
                break
            end += 1
        yield token.text, name.text, pieces[at + 2 : end]


def fields(body: list[Token]) -> int:
    """The named fields of a struct."""
    count, depth = 0, 0
    for at, token in enumerate(body[:-1]):
        if token.kind == "mark":
            depth += (token.text in "{([<") - (token.text in "})]>")
        following = body[at + 1].text, body[at + 2].text if at + 2 < len(body) else ""
        if (
            depth == 1
            and token.kind == "name"
            and following[0] == ":"
            and following[1] != ":"
            and body[at - 1].text != ":"
        ):
            count += 1
    return count


def words(body: list[Token]) -> int:
    """The words that stand in an item as text, those of patterns one by one."""
    found = 0
    for token in body:
        if token.kind != "text":
            continue
        inner = token.text[token.text.index('"') + 1 : token.text.rindex('"')]
        found += sum(bool(_WORD.fullmatch(part.strip(r" ^$()?:\b"))) for part in inner.split("|"))
    return found


def circles(crate: Path) -> list[int]:
    """The sizes of circles of imports in a crate that are larger than they may be."""
    sources = {path.relative_to(crate / "src"): path for path in (crate / "src").rglob("*.rs")}
    names = {}
    for path in sources:
        parts = [*path.parts[:-1], path.stem]
        names[tuple(parts[:-1] if parts[-1] in ("mod", "lib") else parts)] = path
    edges: dict[Path, set[Path]] = defaultdict(set)
    for module, path in names.items():
        code = sources[path].read_text(encoding="utf-8").partition("#[cfg(test)]\nmod ")[0]
        code = re.sub(r"//[^\n]*", "", code)
        for use in re.finditer(r"\b(crate|(?:super::)+|self)(?:::)?((?:\w+::)*)(\{[^;]*?\}|\w+)", code):
            start = use[1]
            base = (
                module[: len(module) - start.count("super")] if "super" in start else () if start == "crate" else module
            )
            stems = [tuple(part for part in use[2].split("::") if part)]
            if use[3].startswith("{"):
                heads = re.findall(r"(?:[{,]\s*)(\w+)", use[3])
                stems = [(*stems[0], head) for head in heads]
            else:
                stems = [(*stems[0], use[3])]
            for stem in stems:
                whole = (*base, *stem)
                while whole and whole not in names:
                    whole = whole[:-1]
                # What a parent holds for its children is no way back.
                if whole in names and names[whole] != path and whole != module[: len(whole)]:
                    edges[path].add(names[whole])
    return [len(group) for group in _groups(list(sources), edges) if len(group) > CIRCLE]


def _groups(nodes: list[Path], edges: dict[Path, set[Path]]) -> list[list[Path]]:
    """The strongly connected parts of a graph (Tarjan 1972), without recursion."""
    index: dict[Path, int] = {}
    low: dict[Path, int] = {}
    stack: list[Path] = []
    on: set[Path] = set()
    found = []
    for root in nodes:
        work = [(root, iter(sorted(edges[root])))] if root not in index else []
        if work:
            index[root] = low[root] = len(index)
            stack.append(root)
            on.add(root)
        while work:
            node, rest = work[-1]
            for other in rest:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    on.add(other)
                    work.append((other, iter(sorted(edges[other]))))
                    break
                if other in on:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    group = []
                    while not group or group[-1] != node:
                        group.append(stack.pop())
                        on.discard(group[-1])
                    found.append(group)
    return found


def sources() -> Iterator[Path]:
    """Rust and Python that is built, and its tests."""
    for folder, pattern in (("src", "*.rs"), ("crates", "*.rs"), ("python", "*.py"), ("tests", "*.py")):
        yield from sorted(path for path in (ROOT / folder).rglob(pattern) if "target" not in path.parts)


def over() -> dict[str, int]:
    """What is over a limit, by the words that name it, with its size."""
    found: dict[str, int] = {}
    types: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for path in sources():
        place = path.relative_to(ROOT).as_posix()
        source = path.read_text(encoding="utf-8")
        lines = source.splitlines()
        if len(lines) > LINES:
            found[f"lines {place}"] = len(lines)
        # Ruff measures Python.
        if path.suffix == ".rs" and (long := sum(len(line) > COLUMNS for line in lines)):
            found[f"columns {place}"] = long
        if path.suffix != ".rs" or "tests" in path.parts or path.name in ("tests.rs", "testing.rs"):
            continue
        crate = "/".join(path.relative_to(ROOT).parts[:2]) if place.startswith("crates/") else "src"
        spoken: dict[str, int] = defaultdict(int)
        for kind, name, body in bodies(tokens(source)):
            if kind in ("struct", "enum"):
                types[crate][name].add(place)
            if kind == "struct" and (count := fields(body)) > FIELDS:
                found[f"fields {place} {name}"] = count
            if kind in ("fn", "const", "static"):
                spoken[name] = max(spoken[name], words(body))
        for name, count in spoken.items():
            if count > WORDS:
                found[f"words {place} {name}"] = count
    for crate, names in types.items():
        for name, places in names.items():
            if len(places) > 1:
                found[f"twice {crate} {name}"] = len(places)
    for crate in sorted((ROOT / "crates").iterdir()):
        for at, size in enumerate(sorted(circles(crate), reverse=True)):
            found[f"circle crates/{crate.name} {at + 1}"] = size
    return found


def known() -> dict[str, int]:
    """The exceptions of today."""
    lines = [line.rsplit(" ", 1) for line in KNOWN.read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]
    return {name: int(size) for name, size in lines}


def code(source: str) -> int:
    """The lines of Rust that hold more than a comment, without tests at the end of the file."""
    source = source.partition("#[cfg(test)]\nmod ")[0]
    lines: set[int] = set()
    line, at = 1, 0
    for piece in _TOKEN.finditer(source):
        line += source.count("\n", at, piece.start())
        at = piece.start()
        if piece.lastgroup != "comment":
            lines.update(range(line, line + piece.group(0).count("\n") + 1))
    return len(lines)


def count(root: Path) -> None:
    """Prints a table: each crate, all its lines with tests, its lines of code."""
    table: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for path in sorted([*(root / "crates").rglob("*.rs"), *(root / "src").rglob("*.rs")]):
        parts = path.relative_to(root).parts
        source = path.read_text(encoding="utf-8")
        sums = [source.count("\n"), 0]
        if "tests" not in parts and path.name not in ("tests.rs", "testing.rs"):
            sums[1] = code(source)
        for crate in ("/".join(parts[:2]) if parts[0] == "crates" else "src", "all"):
            table[crate] = [have + more for have, more in zip(table[crate], sums, strict=True)]
    print("| crate | all lines | lines of code |\n| --- | --- | --- |")
    for crate, sums in sorted(table.items()):
        print(f"| {crate} | {sums[0]:,} | {sums[1]:,} |")


def main() -> int:
    """Says what is wrong; 1 if anything is."""
    if "--count" in sys.argv:
        count(Path((*sys.argv, "")[sys.argv.index("--count") + 1] or ROOT))
        return 0
    now, before = over(), known()
    if "--write" in sys.argv:
        head = "".join(f"{line}\n" for line in KNOWN.read_text(encoding="utf-8").splitlines() if line.startswith("#"))
        kept = {name: min(size, now[name]) for name, size in before.items() if name in now}
        KNOWN.write_text(head + "".join(f"{name} {size}\n" for name, size in sorted(kept.items())), encoding="utf-8")
        before = kept
    wrong = [f"{name}: {size}, {before.get(name, 'the limit')} is allowed" for name, size in sorted(now.items())
             if size > before.get(name, 0)]  # fmt: skip
    stale = [f"{name}: {size} is struck from tests/gates.txt by --write, {now.get(name, 'nothing')} is there"
             for name, size in sorted(before.items()) if now.get(name, 0) < size]  # fmt: skip
    for line in (*wrong, *stale):
        print(line)
    return bool(wrong or stale)


if __name__ == "__main__":
    sys.exit(main())
