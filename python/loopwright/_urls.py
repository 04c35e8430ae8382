"""Addresses of databases. What is shown, logged and kept of one has no password in it."""

from __future__ import annotations

__all__ = ["full_url", "is_url", "shown_url"]

_PREFIXES = ("postgresql://", "postgres://")
_PASSWORDS: dict[str, str] = {}
"""Of this process alone, by the address that is shown."""


def is_url(path: object) -> bool:
    """Whether a journal is in Postgres."""
    return isinstance(path, str) and path.startswith(_PREFIXES)


def shown_url(url: str) -> str:
    """The address without its password, which this process remembers. Elsewhere it is found as for every program:
    `PGPASSWORD`, or `~/.pgpass`.
    """
    from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

    parts = urlsplit(url)
    query = parse_qsl(parts.query, keep_blank_values=True)
    password = parts.password or dict(query).get("password")
    place = parts.netloc
    if parts.password is not None:
        user, _, host = place.rpartition("@")
        place = f"{user.partition(':')[0]}@{host}"
    kept = urlencode([(name, value) for name, value in query if name != "password"], quote_via=quote)
    shown = f"postgresql://{place}{parts.path}{'?' if kept else ''}{kept}"
    if password is not None:
        _PASSWORDS[shown] = unquote(password) if parts.password is not None else password
    return shown


def full_url(shown: str) -> str:
    """The address to connect to."""
    password = _PASSWORDS.get(shown)
    if password is None:
        return shown
    from urllib.parse import quote

    return f"{shown}{'&' if '?' in shown else '?'}password={quote(password, safe='')}"
