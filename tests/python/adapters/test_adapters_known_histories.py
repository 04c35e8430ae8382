"""What was read of a conversation is kept for its next request; a history that was changed is read anew."""

from __future__ import annotations

from typing import Any

from loopwright import Messages
from loopwright.adapters._history import KnownHistories


def known() -> tuple[KnownHistories[list[str]], list[Any]]:
    read: list[Any] = []

    def grown(before: list[str], new: list[Any]) -> list[str]:
        read.extend(each["content"] for each in new)
        return [*before, *(each["content"] for each in new)]

    return KnownHistories([], grown), read


def said(*words: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": each} for each in words]


def test_only_what_is_new_is_read() -> None:
    histories, read = known()
    assert histories.of(said("a", "b")) == ["a", "b"]
    assert histories.of(said("a", "b", "c")) == ["a", "b", "c"]
    assert histories.of(said("a", "b", "c")) == ["a", "b", "c"]
    assert read == ["a", "b", "c"]


def test_conversations_side_by_side_keep_apart() -> None:
    histories, read = known()
    for at in range(1, 4):
        assert histories.of(said(*("x" * at))) == ["x"] * at
        assert histories.of(said(*("y" * at))) == ["y"] * at
    assert read == ["x", "y"] * 3


def test_a_message_that_is_changed_in_place_is_read_anew() -> None:
    histories, read = known()
    history = said("a", "b")
    histories.of(history)
    history[0]["content"] = "other"
    assert histories.of(history) == ["other", "b"]
    assert read == ["a", "b", "other", "b"]


def test_messages_of_ours_grow_without_being_written_again() -> None:
    histories: KnownHistories[Messages] = KnownHistories(Messages(), lambda before, new: before + new)
    first = list(Messages(said("a", "b")))
    more = [*first, *Messages(said("c"))]
    assert [each.text for each in histories.of(first)] == ["a", "b"]
    assert [each.text for each in histories.of(more)] == ["a", "b", "c"]
    assert [each.text for each in histories.of(first)] == ["a", "b"]
