"""What survives of what a run needs later: ours beside the others, at equal exact tokens.

    python benches/quality/run.py            prints the table and writes it into docs/context.md
    python benches/quality/run.py --ours     ours alone

The others live in an environment of their own (benches/quality/.venv), made the first time. All are counted by this
package's own exact tokens.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from functools import lru_cache
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PAGE = ROOT / "docs" / "context.md"
SMALLEST = 2_000
"""Shorter histories are left out: nobody compresses them."""
SHARES = (0.75, 0.5, 0.25)
PARTS = (0.5, 0.75)
MODEL = "gpt-4o"


def in_own_environment() -> None:
    """Starts again inside the environment with the others, made of the pinned requirements."""
    venv = HERE / ".venv"
    python = venv / "bin" / "python"
    if Path(sys.prefix).resolve() == venv.resolve():
        return
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", "-r", str(HERE / "requirements.txt")], check=True)
    os.execv(str(python), [str(python), *sys.argv])  # noqa: S606


class Count:
    """Exact tokens of o200k_base, as requests to gpt-4o are counted: the same for all."""

    def __init__(self) -> None:
        from loopwright.tokens import TokenCounter, count_tokens, decode_tokens, encode_tokens

        self.count = lru_cache(maxsize=200_000)(count_tokens)
        self.encode, self.decode = encode_tokens, decode_tokens
        self._counter = TokenCounter(MODEL)

    def tokens(self, messages) -> int:
        return self._counter.count(list(messages)).tokens


def ours(messages, budget, count, tokens):
    from loopwright import UsageError
    from loopwright.context import compress

    ours.archive = None
    try:
        done = compress(messages, budget, model=MODEL, shape="openai_chat")
    except UsageError:
        # What must stay does not fit: that counts as nothing kept.
        return
    yield [{**message, "content": message["content"] or ""} for message in done.messages]
    everything = [done.archive.recall(handle, limit=1 << 60) for handle in done.archive.handles]
    # Arguments as the tool sees them, as in `text_of`.
    ours.archive = "\n".join(everything).replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')


ours.archive = ""


def measure(names, count, runs, *, verbose=False):
    from runs import needed, survives, text_of

    rows = {name: {share: [] for share in SHARES} for name in names}
    retrievable, skipped, spent = [], 0, dict.fromkeys(names, 0.0)
    for run, messages in runs:
        for part in PARTS:
            past, wanted = needed(messages, part)
            if not wanted:
                continue
            total = count.tokens(past)
            if total < SMALLEST:
                continue
            for share in SHARES:
                budget = int(total * share)
                head = next((at for at, message in enumerate(past) if message["role"] == "assistant"), 0)
                # Where instructions and the task alone take most of the budget there is nothing to choose.
                if count.tokens(past[:head]) > budget * 0.8:
                    skipped += 1
                    continue
                for name, way in names.items():
                    began = time.process_time()
                    best = 0.0
                    for out in way(past, budget, count, count.tokens):
                        if count.tokens(out) > budget:
                            continue
                        text = text_of(out)
                        best = max(best, sum(survives(text, fact) for fact in wanted) / len(wanted))
                    spent[name] += time.process_time() - began
                    rows[name][share].append(best)
                    if verbose:
                        print(f"{share} {part} {name:30} {best:.3f} of {len(wanted)} {run}")
                    if name == "loopwright" and ours.archive is not None:
                        text = text + "\n" + ours.archive
                        retrievable.append(sum(survives(text, fact) for fact in wanted) / len(wanted))
        print(f"  {run}", file=sys.stderr)
    return rows, retrievable, skipped, spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", action="store_true", help="ours alone")
    parser.add_argument("--dry", action="store_true", help="do not write docs/context.md")
    parser.add_argument("--verbose", action="store_true", help="every case")
    arguments = parser.parse_args()
    in_own_environment()
    sys.path[:0] = [str(HERE), str(ROOT / "python")]
    from runs import FOLDER, load

    if not FOLDER.is_dir():
        raise SystemExit(f"skipped: {FOLDER} is absent")
    count = Count()
    names = {"loopwright": ours}
    if not arguments.ours:
        from rivals import RIVALS

        names.update(RIVALS)
    rows, retrievable, skipped, _ = measure(names, count, list(load()), verbose=arguments.verbose)
    cases = [len(rows["loopwright"][share]) for share in SHARES]
    lines = [
        "| kept of what is needed later | 75 % | 50 % | 25 % |",
        "| --- | --- | --- | --- |",
    ]
    for name in names:
        mean = [sum(rows[name][share]) / max(1, len(rows[name][share])) for share in SHARES]
        cells = " | ".join(f"{value * 100:.1f} %" for value in mean)
        lines.append(f"| {name} | {cells} |")
    lines.append("")
    lines.append(
        f"{' / '.join(map(str, cases))} histories of {SMALLEST:,} tokens and more ({skipped} left out: the "
        f"instructions and the task alone fill 80 % of the budget), exact o200k_base tokens. Kept or retrievable with "
        f"loopwright: {min(retrievable) * 100:.1f} % at worst."
    )
    table = "\n".join(lines)
    print(table)
    if not arguments.dry and not arguments.ours and PAGE.exists():
        text = PAGE.read_text(encoding="utf-8")
        before, begin, rest = text.partition("<!-- quality -->\n")
        _, end, after = rest.partition("<!-- /quality -->")
        if begin and end:
            PAGE.write_text(f"{before}{begin}{table}\n{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
