"""Claims of a sentence, however they are written, held against the span that it cites."""
# ruff: noqa: RUF001

from __future__ import annotations

import pytest
from loopwright.grounded import check_citations

WRONG = [
    ("## It is retried 5 times [1]", "It is retried 3 times."),
    ("## It is retried 5 times\n\nIt is retried. [1]", "It is retried 3 times."),
    ("It waits ８０ seconds. [1]", "It waits 90 seconds."),
    ("It waits ٨٠ seconds. [1]", "It waits 90 seconds."),
    ("It waits ८० seconds. [1]", "It waits 90 seconds."),
    ("It is retried twelve times. [1]", "It is retried three times."),
    ("It holds three hundred pages. [1]", "It holds thirty pages."),
    ("It holds a dozen eggs. [1]", "It holds ten eggs."),
    ("Half of the requests fail. [1]", "A quarter of the requests fail."),
    ("It has 2.000 users. [1]", "It has 1,000 users."),
    ("It has 2 000 users. [1]", "It has 1,000 users."),
    ("It has 2'000 users. [1]", "It has 1,000 users."),
    ("It waits 30 minutes. [1]", "It waits 30 seconds."),
    ("It grew by 12 %. [1]", "It grew by 20 %."),
    ("It came out on March 6, 2024. [1]", "It came out on 2024-03-05."),
    ("The fourth attempt is the last. [1]", "The third attempt is the last."),
    ("It takes 10-30 seconds. [1]", "It takes 10-20 seconds."),
    ("The cache was written by Ольга Петрова. [1]", "The cache was written by Иван Сидоров."),
    ("The cache was written by 山田太郎. [1]", "The cache was written by 田中一郎."),
    ("Marie Curie wrote the cache. [1]", "The cache was written by Lise Meitner."),
    ("The film lasts an hour. [1]", "The film lasts half an hour."),
    ("The belt is oiled once a week. [1]", "The belt is oiled once a day."),
    ("The trip takes a couple of days. [1]", "The trip takes five days."),
    ("Olaf inherits the farm from Greta. [1]", "Greta inherits the farm from Olaf."),
    ("Olaf replaces Greta. [1]", "Greta replaces Olaf."),
    ("Mrs Vance is in charge of the tents. [1]", "Mr Poole is in charge of the tents, Mrs Vance of the boats."),
    ("The valve on the boiler leaks. [1]", "The valve on the upper tank leaks. The boiler is new."),
    ("The hidden drawer holds the seal. [1]", "The upper drawer holds the seal."),
    ("| pages | 12 | [1]", "The cache holds ten pages."),
]
RIGHT = [
    ("## 2. Retries\n\nIt is retried 3 times. [1]", "It is retried three times."),
    ("### It is retried 3 times\n\nIt is retried 3 times. [1]", "It is retried three times."),
    ("It waits 90 seconds. [1]", "It waits ９０ seconds, or ٩٠."),
    ("It holds twelve eggs. [1]", "It holds a dozen eggs."),
    ("It holds 300 pages. [1]", "It holds three hundred pages."),
    ("It has 1.000 users. [1]", "It has 1,000 users."),
    ("It has 1 000 users. [1]", "It has 1’000 users."),
    ("It waits 1 minute. [1]", "It waits 60 seconds."),
    ("It came out on 5 March 2024. [1]", "It came out on 2024-03-05."),
    ("Half of the requests fail. [1]", "50 % of the requests fail."),
    ("The film lasts at least half an hour. [1]", "The film lasts at least 30 minutes."),
    ("The film lasts an hour and a half. [1]", "The film lasts 90 minutes."),
    ("The film lasts three quarters of an hour. [1]", "The film lasts 45 minutes."),
    ("The belt is oiled twice a day. [1]", "The belt is oiled every 12 hours."),
    ("The belt is oiled every six months. [1]", "The belt is oiled twice a year."),
    ("The manual is written by Olaf. [1]", "The lamp is not part of 7.4.\nOlaf writes the manual."),
    (
        "The lamp goes out after 5 minutes, then you have to light it again. [1]",
        "Lamps go out after 5 minutes and must be lit again.",
    ),
    ("Then open the valve with this tool: [1]", "Open the valve with the hex key."),
    ("Afterwards, close the valve. [1]", "After the test, close the valve."),
    ("See [https://a.example/b](https://a.example/b). [1]", "The page is https://a.example/b"),
    ("Booking a tent can be cancelled until one day ahead. [1]", "You can cancel a tent booking up to 24 hours ahead."),
    ("There are two servers. [1]", "Both servers answer."),
    ("The cache was written by Ольга Петрова. [1]", "Кэш (the cache) написала Ольга Петрова."),
]


@pytest.mark.parametrize(("answer", "source"), WRONG)
def test_x16_a_number_or_name_that_the_cited_span_does_not_hold_is_found(answer: str, source: str) -> None:
    check = check_citations(answer, [source])
    assert not check.passed
    assert any("UNSUPPORTED" in str(issue) for issue in check.issues), check.issues


@pytest.mark.parametrize(("answer", "source"), RIGHT)
def test_x16_the_same_claim_written_otherwise_is_supported(answer: str, source: str) -> None:
    check = check_citations(answer, [source])
    assert check.passed, check.issues


def test_x16_sentences_are_supported_by_their_own_passage() -> None:
    """False alarms: each sentence of a text that cites its own passage must pass."""
    text = (
        "Since 1998 the ferry has run twice a day. The crossing takes an hour and a half (90 minutes in winter). About a "
        "third of its 1,200 passengers are children; the youngest was 3 weeks old. On May 5, 2021 a new ship came: Nørd "
        "III, built by Müller & Söhne for €12.5 million. It holds 2 × 40 cars, i.e. eighty in all, and uses 15–20 % less "
        "fuel. One of the two engines is kept for storms. Both were made in 2019/2020. Tickets cost 7,50 € (children: "
        "half). The third deck opened at 14:30 on the 21st of June."
    )
    for sentence in text.split(". "):
        check = check_citations(f"{sentence.rstrip('.')}. [1]", [text])
        assert check.passed, (sentence, check.issues)


PUMP = {
    "reference": "https://pumps.example/manual",
    "text": "The pump delivers 40 l/min and draws 2 kW. It is checked every 6 months by the shift lead.\n"
    "Never run it below -10 °C. Up to 3 pumps may share a pipe. The north gate opens at 7 am, the south gate at 9 am.\n"
    "Guests are not admitted to the hall. Start it with `pumpctl start --slow`.\n",
}
FORMS = [
    ("1. It draws 2 kW [1].\n2. It delivers 40 l/min [1].\n3. Up to 3 pumps may share a pipe [1].", "markdown"),
    ("<@U024BE7LH> :100: The pump draws 2 kW, see <https://pumps.example/manual|the manual> [1].", "slack"),
    ("*Pump*\n• draws 2 kW [1]\n• delivers 40 l/min [1]\n\nAsk in <#C024BE7LR|pumps>.", "slack"),
    ("| What | How much |\n|---|---|\n| power | 2 kW |\n| flow | 40 litres per minute |\n\n[1]", "markdown"),
    ("Start it with [the tool](https://pumps.example/manual):\n\n```sh\npumpctl start --slow\n```", "markdown"),
    ("Hi! The south gate opens at 9 am [1]. Let me know if you need anything else!", "plain"),
    ("No, guests are not admitted to the hall [1].", "plain"),
]
UNTRUE = [
    "The pump draws 2 W [1].",
    "The pump delivers 40 litres per second [1].",
    "It is checked every 6 weeks by the shift lead [1].",
    "Never run it below 10 °C [1].",
    "At least 3 pumps may share a pipe [1].",
    "The south gate opens at 9 pm [1].",
    "The south gate opens at 7 am [1].",
    "Guests are admitted to the hall [1].",
    "The pump draws 2 kW, and coffee and cake are served at noon [1].",
    "The pump draws 2 kW [1]. No check is ever needed.",
    "Start it with `pumpctl start --force` [1].",
    'The manual says "the pump may run without oil" [1].',
    "The pump draws 2 kW, see https://pumps.example/other [1].",
    "The pump draws 2 kW [1].\n\nSources:\n- Smith, Pumps of the World, 2019",
]


@pytest.mark.parametrize(("answer", "profile"), FORMS)
def test_x16_form_is_no_claim(answer: str, profile: str) -> None:
    check = check_citations(answer, [PUMP], question="How is the pump run?", profile=profile)
    assert check.passed, check.issues


@pytest.mark.parametrize("answer", UNTRUE)
def test_x16_what_is_changed_in_one_place_is_found(answer: str) -> None:
    assert not check_citations(answer, [PUMP], question="How is the pump run?").passed


@pytest.mark.parametrize(
    "answer",
    [
        "The manual doesn't mention a colour.",
        "None of the sources say which colour it has.",
        "I couldn't find anything about its colour.",
        "There is no information about the colour in these documents.",
        "It is not stated which colour the pump has.",
        "The colour isn't covered in the docs.",
        "I don't have enough information to answer that.",
        "It's unclear from the manual.",
    ],
)
def test_e16_that_the_sources_are_silent_is_an_abstention(answer: str) -> None:
    check = check_citations(answer, [PUMP], question="Which colour has the pump?")
    assert check.passed and check.abstains, check.issues
    assert not check_citations("It is blue.", [], question="Which colour has the pump?").passed
