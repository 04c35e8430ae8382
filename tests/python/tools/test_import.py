"""Importing tools is cheap, and stays so when tools are defined."""

import subprocess
import sys

import pytest

HEAVY = ("pydantic", "pydantic_core", "inspect", "asyncio", "subprocess", "dataclasses", "html.parser", "difflib")


def loaded_after(code: str) -> set[str]:
    script = f"{code}\nimport sys\nprint(*sys.modules)"
    # -S: without site, so that .pth files of the environment load nothing of their own.
    path = [entry for entry in sys.path if entry]
    prelude = f"import sys; sys.path[:] = {path!r}\n"
    done = subprocess.run([sys.executable, "-S", "-c", prelude + script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "code",
    [
        "import loopwright.tools._tool, loopwright.tools",
        "from loopwright.tools import tool, Context\n@tool(risk='confirm')\ndef f(a: int, c: Context) -> str:\n  'x'",
        "from loopwright.tools import tool, ToolSet\ndef f(a: int): ...\nToolSet([tool(f, name='g'), f])",
        "from loopwright.tools import to_content\nto_content('text')\nto_content({'a': [1, None]})",
        "from loopwright._output import OutputType\nOutputType(int)",
    ],
)
def test_nothing_heavy_is_imported(code: str) -> None:
    baseline = loaded_after("pass")
    # The package's own __init__ is another's business.
    package = loaded_after("import loopwright")
    assert not (loaded_after(code) - baseline - package) & set(HEAVY)


def test_pydantic_comes_with_the_first_schema() -> None:
    code = "from loopwright.tools import tool\n@tool\ndef f(a: int): ...\n"
    assert "pydantic" not in loaded_after(code)
    assert "pydantic" in loaded_after(code + "f.schema")


def test_late_names_are_there() -> None:
    from loopwright import tools

    for name in tools.__all__:
        assert getattr(tools, name) is not None
    with pytest.raises(AttributeError, match="nonsense"):
        tools.nonsense  # noqa: B018
