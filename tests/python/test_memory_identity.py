"""What counts as one fact (M3), and what consolidation makes of several (M4): nothing that nobody said."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from loopwright import Memory, UsageError

OPPOSITES = [
    ("The main valve is open.", "The main valve is not open."),
    ("Use C.", "Use C++."),
    ("-200 EUR", "200 EUR"),
    ("x <= 5", "x >= 5"),
    ("Sam owes Ann 5 EUR.", "Ann owes Sam 5 EUR."),
    ("Sam may see it, Ann may not.", "Ann may see it, Sam may not."),
    # Of our own.
    ("Ship it before Friday, not after.", "Ship it after Friday, not before."),
    ("Deploy to prod == allowed", "Deploy to prod != allowed"),
    ("The ratio is 1:10.", "The ratio is 10:1."),
    ("Set the flag to NO.", "Set the flag to No."),
    ("Copy a -> b always", "Copy a <- b always"),
    ("The door is locked: ✅", "The door is locked: ❌"),
    ("Never restart the node.", "Restart the node."),
]
KINDS = ("semantic", "procedural", "reflection")


@pytest.mark.parametrize(("checked", "other"), [*OPPOSITES, *((b, a) for a, b in OPPOSITES)])
def test_m3_the_untrusted_hides_and_changes_nothing_that_was_checked(checked: str, other: str) -> None:
    for kind, first in itertools.product(KINDS, (True, False)):
        memory = Memory(":memory:")
        told = [(checked, "verified"), (other, "untrusted")]
        ids = {text: memory.remember(text, kind, trust=trust) for text, trust in told[:: 1 if first else -1]}
        assert len(set(ids.values())) == 2, "two facts"
        for _ in range(3):
            memory.remember(other, kind, trust="untrusted", tags=["x"], entities=["Eve"])
        memory.consolidate()
        assert memory.why(ids[checked]).trust == "verified"
        assert memory.why(ids[checked]).seen == 1
        assert memory.why(ids[other]).trust == "untrusted"
        question = checked.rstrip(".") + "?"
        # However little is asked for, what was checked is in it, before what was not.
        hits = memory.recall(question, 1)
        if hits:
            assert (hits[0].text, hits[0].trust) == (checked, "verified")
            injected = {hit.text: hit.trust for hit in memory.inject(question, 5).hits}
            assert injected == {checked: "verified", other: "untrusted"}
            assert memory.inject(question, 1).hits[0].text == checked


def test_m3_composition_and_white_space_alone_are_overlooked() -> None:
    memory = Memory(":memory:")
    first = memory.remember("Zoë  lives\tin Oslo.", "semantic")
    for text in ("Zoe\u0308 lives in Oslo.", " Zoë lives in\u00a0Oslo. \n"):
        assert memory.remember(text, "semantic") == first
    assert memory.why(first).seen == 3
    for text in ("Zoe lives in Oslo.", "zoë lives in Oslo.", "Zoë lives in Oslo"):
        assert memory.remember(text, "semantic") != first


def test_m3_one_text_told_with_more_and_with_less_trust() -> None:
    memory = Memory(":memory:")
    low = memory.remember("The vault opens at nine.", "semantic", trust="untrusted", source="page", tags=["planted"])
    high = memory.remember("The vault opens at nine.", "semantic", trust="verified", source="audit")
    assert low != high
    # A telling that is trusted less adds its source and its count, and nothing else.
    again: dict[str, Any] = {"trust": "untrusted", "source": "mail", "tags": ["planted"], "importance": 1.0}
    gone = memory.remember("The vault opens at nine.", "semantic", entities=["Eve"], expires=1e12, **again)
    assert gone == low
    checked, planted = memory.why(high), memory.why(low)
    assert (checked.trust, [one.source for one in checked.sources]) == ("verified", ["audit"])
    assert (planted.trust, planted.seen) == ("untrusted", 2)
    middle = memory.remember("The vault opens at nine.", "semantic", trust="user", source="sam")
    assert middle == high
    assert [(one.source, one.trust) for one in memory.why(high).sources] == [("audit", "verified"), ("sam", "user")]
    (hit,) = memory.inject("When does the vault open?").hits
    assert (hit.id, hit.trust, hit.tags) == (high, "verified", ())
    memory.consolidate()
    assert memory.why(low).state == memory.why(high).state == "live", "nothing is merged over trust"
    # Who forgets one means the words.
    assert memory.forget(high) == [low, high]
    assert memory.recall("vault") == []


def test_m3_another_user_category_or_speaker_is_another_fact() -> None:
    memory = Memory(":memory:")
    tellings: list[dict[str, Any]] = [
        {},
        {"user": "ann"},
        {"user": "bob"},
        {"category": "rule"},
        {"user": "ann", "category": "rule"},
    ]
    ids = [memory.remember("I like tea.", "semantic", trust="user", **about) for about in tellings]
    ids += [memory.remember("I like rum.", "semantic", speaker=name) for name in ("Ann", "Bob")]
    assert len(set(ids)) == 7
    memory.remember("I like tea.", "semantic", trust="untrusted", user="bob")
    assert memory.consolidate().merged == 0
    assert {memory.why(number).trust for number in ids[:5]} == {"user"}
    memory.forget(ids[1])
    assert [memory.why(number).state for number in ids[:5]] == ["live", "forgotten", "live", "live", "forgotten"]


def test_m3_what_a_second_telling_says_beside_the_text_is_kept() -> None:
    memory = Memory(":memory:")
    first = memory.remember("Ann lives in Oslo.", "semantic", tags=["home"])
    assert memory.remember("Ann lives in Oslo.", "semantic", tags=["city"], entities=["Norway"]) == first
    (hit,) = memory.newest()
    assert set(hit.tags) == {"home", "city"}
    assert "Norway" in hit.entities
    memory.remember("Ann lives in Oslo.", "semantic", expires=1.0)
    assert memory.newest() == []


def test_m3_a_stated_fact_does_not_begin_to_rest_on_what_repeats_it() -> None:
    memory = Memory(":memory:")
    fact = memory.remember("The gate is locked at night.", "semantic", trust="user")
    page = memory.remember("A page about gates.", trust="user")
    assert memory.remember("The gate is locked at night.", "semantic", trust="user", derived_from=[page]) == fact
    assert memory.forget(page) == [page]
    assert memory.why(fact).state == "live"


def test_m3_relations_from_outside_lower_no_relation_that_was_checked() -> None:
    memory = Memory(":memory:")
    memory.relate("Ann", "works_at", "Acme", "register", trust="verified")
    memory.relate("Ann", "works_at", "Acme", "page", trust="untrusted")
    memory.relate("Ann", "works_at", "Evil", "page", trust="untrusted")
    assert {(one.entity, one.trust) for one in memory.neighbours("Ann")} == {
        ("Acme", "verified"),
        ("Evil", "untrusted"),
    }


def test_m3_a_flood_of_rewordings_leaves_the_checked_in_sight() -> None:
    memory = Memory(":memory:")
    checked = memory.remember("The main valve is open.", "semantic", trust="verified")
    for sign in "!?;,-…*#~+":
        memory.remember(f"The main valve is not open{sign}", "semantic", trust="untrusted", importance=1.0)
    assert memory.recall("Is the main valve open?", 1)[0].id == checked
    hits = memory.inject("Is the main valve open?").hits
    assert hits[0].id == checked
    assert len(hits) == 5
    other = memory.remember("The main valve hums.", "semantic", trust="untrusted")
    # What puts the same words otherwise leaves room for the rest.
    assert other in {hit.id for hit in memory.inject("Is the main valve open?", 5).hits}


@pytest.mark.parametrize(
    ("once", "often"),
    [
        ("Do not restart the server at night.", "Restart the server at night."),
        ("Sam owes Ann ten pounds.", "Ann owes Sam ten pounds."),
        # Of our own.
        ("The limit is -40 degrees outside.", "The limit is 40 degrees outside."),
        ("Use the port > 1024 always.", "Use the port < 1024 always."),
        ("Install libfoo, without libbar.", "Install libbar, without libfoo."),
    ],
)
def test_m4_a_fact_is_made_of_what_was_said_three_times_alone(once: str, often: str) -> None:
    for order in set(itertools.permutations([once, often, often])):
        memory = Memory(":memory:")
        for text in order:
            memory.remember(text, trust="user")
        assert memory.consolidate().promoted == ()
        memory.remember(often, trust="user")
        (made,) = memory.consolidate().promoted
        fact = memory.why(made)
        assert (fact.text, fact.trust, len(fact.derived_from)) == (often, "user", 3)
        assert memory.consolidate().promoted == ()


def test_m4_nothing_is_made_over_users_categories_and_speakers() -> None:
    text = "I take the train to Bergen."
    for about in ("user", "category", "speaker"):
        memory = Memory(":memory:")
        for value in ("a", "b", None):
            memory.remember(text, trust="user", **{about: value})
        assert memory.consolidate().promoted == (), about
        for _ in range(2):
            memory.remember(text, trust="user", **{about: "a"})
        (made,) = memory.consolidate().promoted
        assert getattr(next(hit for hit in memory.newest() if hit.id == made), about) == "a"


def test_m4_less_trusted_tellings_neither_lower_nor_borrow() -> None:
    text = "The spare key is under the mat."
    memory = Memory(":memory:")
    for trust in ("user", "untrusted", "untrusted"):
        memory.remember(text, trust=trust)  # type: ignore[arg-type]
    (made,) = memory.consolidate().promoted
    assert memory.why(made).trust == "untrusted"
    for _ in range(2):
        memory.remember(text, trust="user")
    (second,) = memory.consolidate().promoted
    assert (memory.why(second).trust, len(memory.why(second).derived_from)) == ("user", 3)
    assert memory.why(made).trust == "untrusted"
    assert memory.consolidate().promoted == ()


def test_m4_what_is_known_already_is_not_told_again_by_consolidating(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "m.db")
    fact = memory.remember("The office closes at six.", "semantic", trust="verified")
    for _ in range(3):
        memory.remember("The office closes at six.", trust="user")
    for _ in range(3):
        assert memory.consolidate().promoted == ()
    assert memory.why(fact).seen == 1


def test_m3_who_told_it_is_part_of_a_fact_in_every_order() -> None:
    for order in itertools.permutations([None, "Ann", "Bob"]):
        memory = Memory(":memory:")
        ids = [memory.remember("Lunch is at noon.", "semantic", speaker=name) for name in order]
        assert len(set(ids)) == 3, order
        assert [memory.remember("Lunch is at noon.", "semantic", speaker=name) for name in order] == ids
        assert memory.consolidate().merged == 0
        assert {hit.speaker for hit in memory.newest()} == set(order)
    # A name that the text begins with is a speaker too.
    memory = Memory(":memory:")
    said = memory.remember("Ann: lunch is at noon.", "semantic")
    assert memory.remember("Ann: lunch is at noon.", "semantic", speaker="Ann") == said
    assert memory.remember("Ann: lunch is at noon.", "semantic", speaker="Bob") != said


@pytest.mark.parametrize("trust", ["user", "verified"])
def test_m3_forgetting_a_copy_leaves_what_is_trusted_further(trust: Any) -> None:
    text = "Backups run at four."
    memory = Memory(":memory:")
    low = [memory.remember(text, "semantic", trust=level) for level in ("untrusted", "unverified")]
    high = memory.remember(text, "semantic", trust=trust)
    assert memory.forget(low[0]) == [low[0]]
    assert memory.forget(low[1]) == [low[1]]
    assert memory.inject("When do backups run?").hits[0].id == high
    # A page that repeats a fact carries nothing of it, and takes nothing along.
    page = memory.remember(text, trust="untrusted")
    assert memory.remember(text, "semantic", trust="untrusted", derived_from=[page]) == high
    assert memory.forget(page) == [page]
    assert memory.why(high).state == "live"
    assert memory.forget(high) == [high]


@pytest.mark.parametrize("trust", ["untrusted", "unverified"])
@pytest.mark.parametrize("count", [5, 300])
def test_m3_no_number_of_notes_crowds_the_checked_out(trust: Any, count: int) -> None:
    memory = Memory(":memory:")
    checked = [
        memory.remember("Refunds above 100 EUR are approved by Dana.", "semantic", trust="verified"),
        memory.remember("Dana is on leave until Monday.", "semantic", trust="user"),
        memory.remember("Refunds are paid within a week.", "procedural", trust="user"),
    ]
    question = "Who approves refunds above 100 EUR for Dana?"
    for number in range(count):
        note = f"Approves refunds above 100 EUR for Dana: clerk {number}, who approves refunds, Dana says."
        memory.remember(note, "semantic", trust=trust, importance=1.0)
    found = memory.inject(question, 5)
    assert {hit.id for hit in found.hits[:3]} == set(checked), "before the rest"
    assert [hit.trust for hit in found.hits[3:]] == [trust] * 2, "which has places too"
    assert [hit.score for hit in found.hits] == sorted((hit.score for hit in found.hits), reverse=True)
    assert memory.inject(question, 1).hits[0].id == checked[0]
    assert {hit.trust for hit in memory.inject(question, 5, trust="verified").hits} == {"verified"}
    assert memory.inject(question, 0).hits == ()
    # What fits nothing that was asked takes no place.
    assert {hit.id for hit in memory.inject("clerk says", 5).hits} & set(checked) == set()


def test_m3_relations_are_of_their_user() -> None:
    memory = Memory(":memory:")
    fact = memory.remember("Ann works at Acme.", "semantic", user="bob")
    memory.relate("Ann", "works_at", "Acme", fact)
    memory.relate("Ann", "knows", "Cem", "a call", user="bob")
    memory.relate("Ann", "knows", "Dag", "a mail", user="ann")
    memory.relate("Cem", "located_in", "Oslo", "a map")
    memory.relate("Dag", "located_in", "Bonn", "a map", user="ann")

    def near(user: str | None) -> set[str]:
        return {one.entity for one in memory.neighbours("Ann", distance=2, user=user)}

    assert near("bob") == {"Acme", "Cem", "Oslo"}
    assert near("ann") == {"Dag", "Bonn"}
    assert near("") == near("eve") == set()
    assert near(None) == {"Acme", "Cem", "Oslo", "Dag", "Bonn"}
    with pytest.raises(UsageError) as caught:
        memory.relate("Ann", "knows", "Eve", fact, user="ann")
    assert caught.value.code == "invalid_value"
    # The same relation of two users is two: one goes without the other.
    memory.relate("Ann", "knows", "Cem", "a call", user="ann")
    gone = memory.forget_user("ann")
    assert (list(gone), gone.relations, gone.known) == ([], 3, True)
    assert near("bob") == {"Acme", "Cem", "Oslo"}
    assert near("ann") == set()
    gone = memory.forget_user("bob")
    assert (list(gone), gone.relations) == ([fact], 1)
    assert {one.entity for one in memory.neighbours("Cem")} == {"Oslo"}
    assert not memory.forget_user("bob").known
