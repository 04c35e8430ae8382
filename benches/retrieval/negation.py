"""How often the citation check sees that a sentence turns its source around, and how often it wrongly says so.

    python benches/retrieval/negation.py [mc500.test.tsv …] [xquad.en.json]

Each sentence of a text is turned around in one crude way and cited to the text that it comes from: a `not`, `never`,
`no longer` or `failed to` put in, a negation taken out, one word replaced by its opposite. Found: the check calls it
unsupported. Against that stand sound sentences, which must pass: each sentence as it is, its parts, its negations
written otherwise (`didn't`, `did not`; `never`, `not ever`), and statements made from questions about the text and
their right answers (MCTest: the `.ans` file beside; XQuAD: the marked answers). Without an argument: Cranfield's
abstracts. What the check refuses for another reason counts neither way.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from cranfield import records
from loopwright.grounded import check_citations

AUXILIARY = r"(?:is|are|was|were|will|would|can|could|must|should|has|have|had|does|do|did)"
NOT = re.compile(
    rf"\b({AUXILIARY}) not\b|\b({AUXILIARY})n['\u2019]t\b|\bcannot\b|\bnever\b|\bno longer\b", re.IGNORECASE
)
# Past forms and third persons that are no nouns; each with the form that `failed to` wants.
VERBS = {
    "opened": "open", "won": "win", "said": "say", "went": "go", "made": "make", "took": "take", "found": "find",
    "gave": "give", "became": "become", "began": "begin", "wrote": "write", "played": "play", "wanted": "want",
    "used": "use", "asked": "ask", "told": "tell", "came": "come", "saw": "see", "ate": "eat", "got": "get",
    "put": "put", "ran": "run", "thought": "think", "knew": "know", "bought": "buy", "started": "start",
    "caused": "cause", "provides": "provide", "includes": "include", "shows": "show", "contains": "contain",
    "gives": "give", "makes": "make", "requires": "require", "allows": "allow", "increases": "increase",
    "produced": "produce", "received": "receive", "helped": "help", "loved": "love", "liked": "like",
}  # fmt: skip
OPPOSITES = [
    ("before", "after"), ("increase", "decrease"), ("increases", "decreases"), ("increased", "decreased"),
    ("won", "lost"), ("open", "closed"), ("opened", "closed"), ("large", "small"), ("larger", "smaller"),
    ("big", "little"), ("high", "low"), ("higher", "lower"), ("happy", "sad"), ("good", "bad"), ("first", "last"),
    ("above", "below"), ("always", "never"), ("started", "stopped"), ("began", "ended"), ("old", "new"),
    ("older", "younger"), ("more", "less"), ("most", "least"), ("early", "late"), ("hot", "cold"),
    ("same", "different"),
    ("loved", "hated"), ("likes", "hates"), ("found", "lost"), ("possible", "impossible"), ("left", "stayed"),
    ("stronger", "weaker"), ("faster", "slower"), ("accepted", "rejected"), ("with", "without"), ("all", "no"),
    ("north", "south"), ("east", "west"), ("public", "private"), ("success", "failure"), ("remembered", "forgot"),
]  # fmt: skip
OPPOSITE = {one: other for pair in OPPOSITES for one, other in (pair, pair[::-1])}

DENIED = "from questions, denied"
# A text, and the questions about it with their right answer and wrong ones.
ASKS_OBJECT = re.compile(r"(?:what|who)\s+(?:did|does|do|can|could|will|would|should)\b", re.IGNORECASE)
Story = tuple[str, list[tuple[str, str, list[str]]]]


def matched(pattern: str, by: Callable[[re.Match[str]], str]) -> Callable[[str], str | None]:
    found = re.compile(pattern)

    def turn(sentence: str) -> str | None:
        match = found.search(sentence)
        return sentence[: match.start()] + by(match) + sentence[match.end() :] if match else None

    return turn


def without_negation(sentence: str) -> str | None:
    match = NOT.search(sentence)
    if match is None:
        return None
    kept = match[1] or match[2] or ("can" if match[0].lower() == "cannot" else "")
    if kept == "ca":
        kept = "can"
    return re.sub(r"\s+", " ", sentence[: match.start()] + kept + sentence[match.end() :]).replace(" ,", ",")


def opposite(sentence: str) -> str | None:
    for match in re.finditer(r"[a-z]+", sentence):
        if other := OPPOSITE.get(match[0]):
            return sentence[: match.start()] + other + sentence[match.end() :]
    return None


def only_positive(turn: Callable[[str], str | None]) -> Callable[[str], str | None]:
    """Only sentences without a negation are turned: of others nobody can say what they then mean."""
    denying = re.compile(
        r"\b(?:not|no|never|none|nor|neither|nothing|nobody|without|cannot)\b|n['\u2019]t\b", re.IGNORECASE
    )
    return lambda sentence: None if denying.search(sentence) else turn(sentence)


VERB = r"\b(" + "|".join(VERBS) + r")\b"
FLIPS: dict[str, Callable[[str], str | None]] = {
    "`not` put in": only_positive(matched(rf"\b({AUXILIARY})\b(?=\s+[a-z])", lambda match: f"{match[0]} not")),
    "`n't` put in": only_positive(
        matched(r"\b(is|are|was|were|does|did|has|had)\b(?=\s+[a-z])", lambda m: m[0] + "n't")
    ),
    "`never` put in": only_positive(matched(VERB, lambda match: f"never {match[0]}")),
    "`no longer` put in": only_positive(
        matched(rf"\b({AUXILIARY})\b(?=\s+[a-z])", lambda match: f"{match[0]} no longer")
    ),
    "`failed to` put in": only_positive(matched(VERB, lambda match: f"failed to {VERBS[match[1]]}")),
    "a negation taken out": without_negation,
    "an opposite put in": only_positive(opposite),
}


def parts(sentence: str) -> Iterator[str]:
    """What stands before and behind the commas, where that is long enough to say something."""
    pieces = re.split(r",\s+", sentence.rstrip(".!"))
    if len(pieces) > 1:
        for piece in (pieces[0], ", ".join(pieces[1:])):
            if len(piece.split()) >= 4:  # noqa: PLR2004
                yield piece[0].upper() + piece[1:] + "."


def otherwise(sentence: str) -> Iterator[str]:
    """The same with its negation written in another way."""
    for pattern, to in [
        (rf"\b({AUXILIARY})n['\u2019]t\b", r"\1 not"), (r"\bcannot\b", "can not"), (r"\bdid not\b", "didn't"),
        (r"\bwas not\b", "wasn't"), (r"\bis not\b", "isn't"), (r"\bnever\b", "not ever"),
        (r"\bcould not\b", "was unable to"),
    ]:  # fmt: skip
        said = re.sub(pattern, to, sentence)
        if said != sentence and "ca not" not in said and "wo not" not in said:
            yield said


def statement(question: str, answer: str) -> str | None:
    """A question and its right answer as one statement, where a rule can make one."""
    question = question.strip().rstrip("?").strip()
    answer = answer.strip().rstrip(".")
    if match := re.match(rf"(?:who|what|which \w+)\s+({AUXILIARY}|\w+ed|\w+s)\s+(.+)$", question, re.IGNORECASE):
        verb, rest = match[1], match[2]
        asks_object = ASKS_OBJECT.match(question)
        if not asks_object and re.match(r"who\b|what\s+(?:\w+ed|has|had)\b", question, re.IGNORECASE):
            return f"{answer[0].upper()}{answer[1:]} {verb} {rest}."
        if not asks_object and verb.lower() in ("is", "was", "are", "were"):
            return f"{rest[0].upper()}{rest[1:]} {verb} {answer}."
    if match := re.match(
        r"(what|who|where|when|why|how)\s+(did|does|do|can|could|will)\s+(not\s+)?(\w+(?:\s+and\s+\w+)?)\s+(.+)$",
        question,
        re.IGNORECASE,
    ):
        _, helper, _not, subject, rest = match.groups()
        if subject.lower() in ("the", "a", "his", "her", "their", "its"):
            noun, _, rest = rest.partition(" ")
            subject = f"{subject} {noun}"
        return f"{subject[0].upper()}{subject[1:]} {helper} {_not or ''}{rest} {answer}." if rest else None
    return None


def opposed(sentence: str, text: str) -> str | None:
    """What the check says of a sentence whose source says the opposite."""
    check = check_citations(f"{sentence.rstrip('.!? ')} [1].", [text])
    return next((issue.message for issue in check.issues if "says the opposite" in issue.message), None)


def sentences(text: str) -> list[str]:
    found = re.split(r"(?<=[.!])\s+(?=[A-Z])", text)
    return [one for one in found if 4 <= len(one.split()) <= 40 and not re.search(r"[\"“”?\[\]]", one)]  # noqa: PLR2004


def measure(name: str, stories: list[Story], show: Callable[[str, str, str], None]) -> None:
    found: Counter[str] = Counter()
    tried: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    sound: Counter[str] = Counter()

    def passes(kind: str, said: str, text: str) -> None:
        sound[kind] += 1
        if why := opposed(said, text):
            wrong[kind] += 1
            show(f"false alarm, {kind}", said, why)

    for text, asked in stories:
        for sentence in sentences(text):
            passes("as they are", sentence, text)
            if opposed(sentence, text):
                continue
            for part in parts(sentence):
                passes("parts", part, text)
            for said in otherwise(sentence):
                passes("negations written otherwise", said, text)
            for kind, flip in FLIPS.items():
                turned = flip(sentence)
                if turned is not None and turned != sentence:
                    tried[kind] += 1
                    if opposed(turned, text):
                        found[kind] += 1
                    else:
                        show(f"missed, {kind}", turned, text)
        for question, answer, wrong_ones in asked:
            if said := statement(question, answer):
                passes("from questions", said, text)
                turned = FLIPS["`not` put in"](said)
                if turned is not None and not opposed(said, text):
                    tried[DENIED] += 1
                    if opposed(turned, text):
                        found[DENIED] += 1
                    else:
                        show(f"missed, {DENIED}", turned, text)
            for other in wrong_ones:
                denied = statement(question, other)
                if denied and (denied := FLIPS["`not` put in"](denied)):
                    passes("wrong answers denied", denied, text)
    print(f"\n{name}: {len(stories)} texts\n\n| turned around | found | of | share |\n| --- | --- | --- | --- |")
    for kind in (*FLIPS, DENIED):
        print(f"| {kind} | {found[kind]} | {tried[kind]} | {found[kind] / max(1, tried[kind]):.0%} |")
    print("\n| sound | called unsupported | of |\n| --- | --- | --- |")
    for kind in sound:
        print(f"| {kind} | {wrong[kind]} | {sound[kind]} |", flush=True)


def capitalised(text: str) -> str:
    """A text without capitals, whose marks stand apart, as others are written."""
    said = re.split(r"\s\.\s*", " ".join(text.split()))
    return " ".join(f"{one[0].upper()}{one[1:]}." for one in said if one).replace(" ,", ",")


def mctest(path: Path) -> list[Story]:
    answers = path.with_suffix(".ans")
    right = [line.split() for line in answers.read_text().splitlines()] if answers.exists() else []
    stories = []
    lines = path.read_text(encoding="utf-8").splitlines()
    for at, row in enumerate(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)):
        asked = []
        for number in range(4 if right else 0):
            question, *choices = row[3 + 5 * number : 8 + 5 * number]
            answer = choices.pop("ABCD".index(right[at][number]))
            asked.append((question.split(":", 1)[1], answer, choices))
        stories.append((row[2].replace("\\newline", " ").replace("\\tab", " "), asked))
    return stories


def xquad(path: Path) -> list[Story]:
    articles = json.loads(path.read_text(encoding="utf-8"))["data"]
    return [
        (part["context"], [(each["question"], each["answers"][0]["text"], []) for each in part["qas"]])
        for article in articles
        for part in article["paragraphs"]
    ]


def main() -> None:
    verbose = "--show" in sys.argv
    paths = [Path(one) for one in sys.argv[1:] if one != "--show"]

    def show(kind: str, said: str, why: str) -> None:
        if verbose:
            print(f"{kind}: {said}\n    {why}", file=sys.stderr)

    if not paths:
        measure("Cranfield", [(capitalised(text), []) for text in records("cran.all.1400")], show)
    for path in paths:
        stories = xquad(path) if path.suffix == ".json" else mctest(path)
        for half in (0, 1):
            measure(f"{path.name}, {('even', 'odd')[half]} places", stories[half::2], show)


if __name__ == "__main__":
    main()
