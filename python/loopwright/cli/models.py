"""`loopwright models`: providers and whether they can be asked, the models that tables know, and all about one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from loopwright._dataclasses import asdict
from loopwright.errors import UsageError

from .exit_codes import OK
from .model_facts import ModelFacts, ProviderState, facts_of, provider_state, providers
from .screen import Screen, Style
from .text import fit, one_line, plural, wrap

if TYPE_CHECKING:
    import argparse

__all__ = ["models", "rows_of"]

_AT = 12
"""The column at which facts begin."""


def models(arguments: argparse.Namespace) -> int:
    """Shows what is known of models; gives the exit code."""
    screen = Screen(bare=arguments.json)
    name = arguments.name
    if name is None:
        _show_providers(screen, as_json=arguments.json)
    elif ":" in name:
        _show_model(name, screen, as_json=arguments.json)
    else:
        _show_models(name, screen, as_json=arguments.json)
    return OK


def rows_of(facts: ModelFacts) -> list[tuple[str, str]]:
    """What is known of a model, as names and words."""
    state = facts.provider
    rows = [
        ("key", "it can be asked" if state.missing is None else state.missing),
        ("address", f"{state.host}, over {state.wire}" if state.host else "not known before the rest is set"),
        ("window", "not known" if facts.window is None else f"{facts.window:,} tokens"),
        ("price", _price_words(facts.price)),
    ]
    if facts.dialect is not None:
        rows.append(("dialect", f"{facts.dialect}, where it writes calls into its text"))
    if facts.replaced is None:
        rows.append(("replaced", "can't be said from here"))
    rows += [("replaced" if at == 0 else "", each) for at, each in enumerate(facts.replaced or ())]
    if facts.replaced == []:
        rows.append(("replaced", "nothing"))
    return rows


def _show_model(name: str, screen: Screen, *, as_json: bool) -> None:
    facts = facts_of(name)
    if as_json:
        screen.answer(json.dumps({"model": name, **asdict(facts)}))
        return
    screen.answer(one_line(name), style=Style.BOLD)
    for what, told in rows_of(facts):
        screen.answer(wrap(f"  {what:<{_AT - 2}}{one_line(told)}", screen.columns, margin=_AT))


def _show_providers(screen: Screen, *, as_json: bool) -> None:
    from loopwright import prices

    priced = [name.partition(":")[0] for name in prices.names()]
    states = [provider_state(name) for name in providers()]
    if as_json:
        rows = [{**asdict(state), "priced": priced.count(state.name)} for state in states]
        screen.answer(json.dumps({"providers": rows, "prices_as_of": prices.as_of()}))
        return
    screen.answer(f"  {'provider':<17} {'priced':>6}  asked", style=Style.BOLD)
    for state in states:
        count = priced.count(state.name) or "-"
        line = f"  {state.name:<17} {count:>6}  {_asked(state)}"
        style = None if state.missing is None else Style.DIM
        screen.answer(fit(line, screen.columns) if screen.out_is_live else line, style=style)
    screen.answer("")
    screen.answer(
        wrap(
            "loopwright models PROVIDER lists the models that tables know; any other name works as well.",
            screen.columns,
        )
    )
    screen.answer(wrap("loopwright models PROVIDER:NAME says what is replaced on a model.", screen.columns))


def _asked(state: ProviderState) -> str:
    if state.missing is not None:
        return f"not yet: {state.missing}"
    return "here, without a network" if state.wire == "offline" else f"at {state.host}"


def _show_models(part: str, screen: Screen, *, as_json: bool) -> None:
    from loopwright import prices
    from loopwright.context import window_of

    known = prices.names()
    found = [name for name in known if name.startswith(f"{part}:")] or [name for name in known if part in name]
    if not found and part not in providers():
        message = f"no table knows a model like {one_line(part)!r}"
        raise UsageError(message, "unknown_model", "loopwright models shows the providers")
    rows: list[dict[str, Any]] = []
    for name in found:
        price = prices.of(name)
        rows.append({"model": name, "window": window_of(name), "price": None if price is None else price._asdict()})
    if as_json:
        screen.answer(json.dumps({"models": rows, "prices_as_of": prices.as_of()}))
        return
    if not rows:
        screen.answer(f"No table knows models of {part}; any name works: {part}:NAME")
        return
    width = max(len(name) for name in found)
    head = f"  {'model':<{width}}  {'window':>9}  {'input':>7}  {'output':>7}  {'cached':>7}"
    screen.answer(fit(head, screen.columns) if screen.out_is_live else head, style=Style.BOLD)
    for row in rows:
        window = "?" if row["window"] is None else f"{row['window']:,}"
        costs = [_money((row["price"] or {}).get(each)) for each in ("input", "output", "cache_read")]
        line = f"  {row['model']:<{width}}  {window:>9}  " + "  ".join(f"{cost:>7}" for cost in costs)
        screen.answer(fit(line, screen.columns) if screen.out_is_live else line)
    screen.answer("")
    many = plural(len(rows), "model")
    words = f"{many}; windows in tokens, prices in US dollars for a million tokens, as of {prices.as_of()}."
    screen.answer(wrap(words, screen.columns))


def _money(price: float | None) -> str:
    return "-" if price is None else f"{price:g}"


def _price_words(price: dict[str, float | None] | None) -> str:
    from loopwright import prices

    if price is None:
        return "not known: give one as Model(price=...), or a table in $LOOPWRIGHT_PRICES"
    if not price["input"] and not price["output"]:
        return "nothing"
    cached = "" if price["cache_read"] is None else f", cached {_money(price['cache_read'])}"
    costs = f"input {_money(price['input'])}, output {_money(price['output'])}{cached}"
    return f"{costs}: US dollars for a million tokens, as of {prices.as_of()}"
