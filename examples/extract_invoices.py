"""Letters become records: a model reads them, four at a time; each is checked against a type, and a line of JSON.

What is no invoice is said to be none, and what no model could read is set aside. The total of each invoice is added up
once more, and a model that got it wrong is told so.

python examples/extract_invoices.py [MODEL [FOLDER]]      without a model a few rules play it: no key, no network
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

from loopwright import Agent, Budget, LoopwrightError, Output
from loopwright.models import Request
from pydantic import BaseModel, model_validator
from pydantic.dataclasses import dataclass

LETTERS = {
    "a.txt": "Invoice A-7\n3 x bolts at 2.50\n1 x nuts at 5.00\nTotal 12.50 EUR",
    "b.txt": "Invoice B-9\n2 x clay at 10.00\nTotal 20.00 EUR",
    "c.txt": "Dear Sam,\nthe kiln is fired on Thursday.\nInes",
    "d.txt": "%PDF-1.7 \x00\x01\x02",
}


class Line(BaseModel):
    """What was bought."""

    what: str
    number: int
    price: float


class Invoice(BaseModel):
    """A letter that wants money."""

    kind: Literal["invoice"] = "invoice"
    id: str
    lines: list[Line]
    total: float

    @model_validator(mode="after")
    def adds_up(self) -> Invoice:
        """The model reads why its answer is refused."""
        added = sum(line.number * line.price for line in self.lines)
        if abs(added - self.total) > 0.005:
            raise ValueError(f"the lines add up to {added:.2f}, not to {self.total:.2f}")
        return self


class Other(BaseModel):
    """A letter that wants something else."""

    kind: Literal["other"] = "other"
    about: str


@dataclass
class Read:
    """What became of a letter."""

    file: str
    found: Invoice | Other | None
    why: str = ""


class Rules:
    """Plays a model: it reads well, but takes the first price for the total until it is told."""

    name = "rules"

    def respond(self, request: Request) -> str:
        letter = next(block["text"] for block in json.loads(request.to_json())["messages"][0]["content"])
        found = re.search(r"Invoice (\S+)", letter)
        if found is None:
            return json.dumps({"kind": "other", "about": letter.splitlines()[1]}) if "Dear" in letter else "Unreadable."
        lines = re.findall(r"(\d+) x (\w+) at ([\d.]+)", letter)
        total = re.search(r"Total ([\d.]+)", letter) if request.turns else re.search(r"at ([\d.]+)", letter)
        assert total is not None
        return json.dumps(
            {
                "id": found[1],
                "lines": [
                    {"what": what, "number": int(number), "price": float(price)} for number, what, price in lines
                ],
                "total": float(total[1]),
            }
        )


async def main(letters: dict[str, str]) -> None:
    agent = Agent(
        sys.argv[1] if len(sys.argv) > 1 else Rules(),
        instructions="Read the letter. If it is an invoice give its lines and its total, else say what it is about.",
        output_type=Annotated[Invoice | Other, Output(attempts=3)],
        settings={"temperature": 0},
        budget=Budget(rounds=5, wall_time=60),
    )
    few = asyncio.Semaphore(4)

    async def read(name: str, letter: str) -> Read:
        async with few:
            try:
                result = await agent.run(letter)
                return Read(name, result.output, f"{result.rounds} rounds")
            except LoopwrightError as error:
                return Read(name, None, error.code)

    for one in await asyncio.gather(*(read(name, letter) for name, letter in letters.items())):
        print(json.dumps(asdict(one), default=lambda model: model.model_dump()))


if __name__ == "__main__":
    given = sorted(Path(sys.argv[2]).glob("*.txt")) if len(sys.argv) > 2 else []
    asyncio.run(main({path.name: path.read_text(encoding="utf-8") for path in given} or LETTERS))
