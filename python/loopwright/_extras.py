"""Packages of others that are extras: whether one is there, and of a version that is known to work."""

from __future__ import annotations

from functools import cache

from .errors import UsageError

__all__ = ["need"]


@cache
def need(whose: str, package: str, extra: str, oldest: tuple[int, int], below: tuple[int, int]) -> None:
    """Raises a `UsageError` that says what to install: `missing_extra`, or `wrong_version` of the other package."""
    from importlib import metadata

    install = f"pip install 'loopwright[{extra}]'"
    try:
        version = metadata.version(package)
    except metadata.PackageNotFoundError:
        message = f"{whose} needs the package {package}, which is not installed"
        raise UsageError(message, "missing_extra", install) from None
    numbers = tuple(int(part) if part.isdecimal() else 0 for part in version.split(".")[:2])
    if not oldest <= numbers < below:
        wanted = f"{oldest[0]}.{oldest[1]} or newer, below {below[0] if not below[1] else f'{below[0]}.{below[1]}'}"
        message = f"{whose} needs {package} {wanted}; {version} is installed"
        raise UsageError(message, "wrong_version", f"{install} --upgrade")
