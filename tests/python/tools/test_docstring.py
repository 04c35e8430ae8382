"""Docstrings of three styles, and of none."""

import pytest
from loopwright.tools._docstring import read

GOOGLE = """Find a flight.

    Cheapest first.

    Args:
        origin: Where it starts,
            as an airport code.
        day (str, optional): The day: 2024-01-31.
        *rest: Others.

    Returns:
        A list.

    Raises:
        ValueError: never.

    Example:
        find("VIE")
    """
NUMPY = """
    Find a flight.

    Cheapest first.

    Parameters
    ----------
    origin : str
        Where it starts,
        as an airport code.
    day : str, optional
        The day: 2024-01-31.
    x, y
        Both.

    Returns
    -------
    list
        A list.
    """
SPHINX = """Find a flight.

    Cheapest first.

    :param origin: Where it starts,
        as an airport code.
    :type origin: str
    :param str day: The day: 2024-01-31.
    :returns: A list.
    :raises ValueError: never.
    """


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_styles(text: str) -> None:
    found = read(text)
    assert found.parameters["origin"] == "Where it starts, as an airport code."
    assert found.parameters["day"] == "The day: 2024-01-31."
    assert found.description.startswith("Find a flight.\n\nCheapest first.")
    for word in ("Returns", "A list", "Raises", "never", "airport", "----", ":param"):
        assert word not in found.description


def test_examples_stay_in_the_description() -> None:
    assert 'find("VIE")' in read(GOOGLE).description


def test_numpy_names_that_share_a_text() -> None:
    found = read(NUMPY).parameters
    assert found["x"] == found["y"] == "Both."


@pytest.mark.parametrize(
    ("text", "description"),
    [
        (None, ""),
        ("", ""),
        ("One line.", "One line."),
        ("Args are checked: all of them.", "Args are checked: all of them."),
        ("Note: this is one line.", "Note: this is one line."),
        ("Args:", "Args:"),
        ("Returns:\n", "Returns:"),
        (":param", ":param"),
        (":ratio: 3:4 is kept", ":ratio: 3:4 is kept"),
        ("Text.\n\nArgs:\n\n", "Text.\n\nArgs:"),
    ],
)
def test_text_without_parameters(text: str | None, description: str) -> None:
    assert read(text) == (description, {})


def test_prose_after_the_section_is_kept() -> None:
    found = read("A.\n\nArgs:\n    x: one\n\nMore prose.\n")
    assert found == ("A.\n\nMore prose.", {"x": "one"})


def test_unknown_shapes_in_a_section_join_the_entry_before() -> None:
    assert read("A.\n\nArgs:\n    x: one\n    and more words\n").parameters == {"x": "one and more words"}


def test_tabs_and_windows_lines() -> None:
    assert read("A.\r\n\r\n\tArgs:\r\n\t\tx: one\r\n").parameters == {"x": "one"}


@pytest.mark.parametrize("piece", [":param x: ", "Args:\n", "x" * 10, "(", " \n", "a, ", ":", "\t", "---\n"])
def test_hostile_docstrings_take_linear_time(piece: str) -> None:
    read("Args:\n    " + piece * 20_000)
    read("Parameters\n----\n" + piece * 20_000)
