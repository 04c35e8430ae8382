"""Makes `cases.jsonl` of the two lists. Half of it, by a hash of the command, was never looked at while rules were written."""

import hashlib
import json
from pathlib import Path

here = Path(__file__).parent
with (here / "cases.jsonl").open("w") as out:
    for name, expected in (("destructive.txt", "deny"), ("harmless.txt", "allow")):
        category = ""
        for line in (here / name).read_text().splitlines():
            if line.startswith("## "):
                category = line[3:]
            elif line and not line.startswith("# "):
                command = line.replace("\\n", "\n") if "<<" in line or "\\\\n" in line or "\\n " in line else line
                held = hashlib.sha256(command.encode()).digest()[0] % 2 == 1
                case = {"set": f"{expected}/{category}", "command": command, "expected": expected, "held_out": held}
                out.write(json.dumps(case, ensure_ascii=False) + "\n")

with (here / "second.jsonl").open("w") as out:
    for line in (here / "second.txt").read_text().splitlines():
        kind, command = line.split("\t", 1)
        if "<<" in command:
            command = command.replace("\\n", "\n")
        expected = {"D": "deny", "H": "allow"}[kind]
        case = {"set": f"{expected}/second", "command": command, "expected": expected}
        out.write(json.dumps(case, ensure_ascii=False) + "\n")
