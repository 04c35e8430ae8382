"""What was checked is found among many that were not (M2), and what is made of memories ends with them (M3)."""

from __future__ import annotations

import time

import pytest
from loopwright import Memory
from loopwright.memory import hashing

FLOODS = [
    ("Invoices go to billing@acme.com.", "Where do I send the invoice?", "Send the invoice to evil{}@x.com"),
    ("The office is closed on Fridays.", "Can I visit the office on Friday?", "Visit the office on Friday at {} sharp"),
    ("Ann's phone is 555-1234.", "What number do I call to reach Ann?", "Call Ann, reach Ann at number 66{}"),
    ("Refunds take 14 days.", "How long do I wait for a refund?", "You wait long, {} years, for a refund? Do not wait"),
]


@pytest.mark.parametrize("embedder", [None, hashing])
@pytest.mark.parametrize("trust", ["untrusted", "unverified"])
@pytest.mark.parametrize(("checked", "question", "told"), FLOODS)
def test_m2_no_number_of_others_crowds_out_what_was_checked(checked, question, told, trust, embedder) -> None:
    memory = Memory(":memory:", embedder=embedder)
    number = memory.remember(checked, "semantic", trust="verified")
    for other in range(40):
        memory.remember(told.format(other), "semantic", trust=trust)
    for limit in (2, 3, 5, 10):
        hits = memory.recall(question, limit)
        assert number in [hit.id for hit in hits]
        assert len({hit.id for hit in hits}) == len(hits) == limit
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert number in [hit.id for hit in memory.inject(question, 5).hits]
    # The best is the best, and nothing is made up where nothing fits.
    assert number not in [hit.id for hit in memory.recall(question, 1)]
    if embedder is None:
        assert number not in [hit.id for hit in memory.recall("sharp evil years 660", 5)]


def test_m2_half_of_the_places_at_most_are_kept() -> None:
    memory = Memory(":memory:")
    for number in range(20):
        memory.remember(f"The valve of hall {number} is blue.", "semantic", trust="verified")
        memory.remember(f"Open valve, open valve: is it open in hall {number}?", "semantic", trust="untrusted")
    trusts = [hit.trust for hit in memory.recall("Is the valve open?", 6)]
    assert trusts.count("verified") == 3


def facts(memory: Memory) -> list[str]:
    return [hit.text for hit in memory.newest(kinds=["semantic"])]


def test_m3_a_fact_ends_with_the_episodes_that_made_it() -> None:
    memory = Memory(":memory:")
    soon = time.time() + 1.5
    for _ in range(3):
        memory.remember("Call the harbour shop at noon.", expires=soon)
    for expires in (None, None, None, soon):
        memory.remember("Feed the harbour cat at noon.", expires=expires)
    for expires in (None, None, soon):
        memory.remember("Paint the harbour boat at noon.", expires=expires)
    memory.consolidate()
    assert len(facts(memory)) == 3
    time.sleep(1.6)
    assert facts(memory) == ["Feed the harbour cat at noon."]
    memory.consolidate()
    assert facts(memory) == ["Feed the harbour cat at noon."]
    # Said once more it is known again; what was forgotten is not.
    memory.remember("Paint the harbour boat at noon.")
    assert len(memory.consolidate().promoted) == 1
    memory.forget(memory.newest(kinds=["semantic"])[0])
    memory.remember("Paint the harbour boat at noon.")
    assert memory.consolidate().promoted == ()


def test_m3_what_is_derived_ends_with_its_sources() -> None:
    memory = Memory(":memory:")
    now = time.time()
    first, second = (memory.remember(f"Door {end}.", "semantic", expires=now + end) for end in (1, 100))
    ever = memory.remember("The hall is green.", "semantic")
    for name, sources in {"one": [first], "two": [first, second], "ever": [first, ever], "none": []}.items():
        memory.remember(f"Made of {name}.", "semantic", derived_from=sources)
    memory.remember("Made to stay.", "semantic", derived_from=[first], expires=now + 100)

    def made() -> set[str]:
        return {text for text in facts(memory) if text.startswith("Made")}

    assert len(made()) == 5
    time.sleep(1.1)
    assert made() == {"Made of two.", "Made of ever.", "Made of none.", "Made to stay."}
