"""Whether a package that an extra brings is there, and of a version that is known to work."""

from __future__ import annotations

from functools import cache

from .errors import UsageError

__all__ = ["need"]


@cache
def need(package: str, room: str, *, extra: str, oldest: str, below: str) -> None:
    """Raises a `UsageError` that says what to install: `missing_extra`, or `wrong_version` of the other package."""
    from importlib import metadata

    install = f"pip install 'loopwright[{extra}]'"
    try:
        version = metadata.version(package)
    except metadata.PackageNotFoundError:
        message = f"{room} needs the package {package}, which is not installed"
        raise UsageError(message, "missing_extra", install) from None
    if not _numbers(oldest) <= _numbers(version) < _numbers(below):
        message = f"{room} needs {package} {oldest} or newer, below {below}; {version} is installed"
        raise UsageError(message, "wrong_version", f"{install} --upgrade")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) if part.isdecimal() else 0 for part in version.split(".")[:3])
