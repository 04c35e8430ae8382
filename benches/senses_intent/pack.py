#!/usr/bin/env python3
"""Makes `src/core/sense/data/words.bin`: how rare a word is, and 64 small numbers that say what it is about.

Frequencies: SymSpell's `frequency_dictionary_en_82_765.txt` (Google Books Ngram, CC BY 3.0, cut with SCOWL).
Numbers: each word alone through all-MiniLM-L6-v2 (Apache 2.0), 384 numbers turned to 64, four bits each. Words of
software, which books know little of, are added by hand below. No pair of requests was looked at to make it.

    pack.py frequency_dictionary_en_82_765.txt

The format: "LWWORDS1", count (u16), then each word in order: length (u8), bytes, rarity (u8, in quarters of a bit
below the commonest possible), 32 bytes of two numbers each, the first in the low half, 8 is zero.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from minilm import MiniLM

HERE = Path(__file__).resolve().parent
OUT = HERE.parent.parent / "src" / "core" / "sense" / "data" / "words.bin"
WORDS, NUMBERS = 12_000, 64
RARE = 19.0
"""Bits of rarity of a word that books do not know."""

SOFTWARE = """
admin ai airflow alembic algorithm alpine android angular ansible api app apps apt arg args argparse arm array artifact ascii
async asyncio auth authenticate authentication authorization autocomplete autoscaling aws azure backend backlog backoff
backport backup bandwidth barcode bash batch benchmark benchmarks bigquery bitbucket blockchain blog boilerplate boolean
bootstrap bot branch breakpoint browser buffer bug bugfix build bundler byte bytecode cache caching callback canary captcha
cargo cassandra cdn celery changelog chat chatbot checkbox checklist checkout checksum chmod chrome cli client clippy clone
cloud cluster cmake codebase codec codegen commit commits compiler compose concurrency conda config configs configuration
container containers cookie cookies coroutine cors coverage cpu crash crate credentials cron cronjob crud css csv cuda curl
cursor daemon dashboard database databases dataclass dataframe dataset datasets datetime deadlock debian debug debugger
decoder decorator decryption dedupe dependency dependencies deploy deployment deprecated deprecation deserialize dev devops
diff directory django dns docker dockerfile docs docstring docstrings domain download downloads downtime dropdown duplicate
elasticsearch email emails embedding embeddings emoji encoder encoding encrypt encryption endpoint endpoints enum env eslint
excel exception exe executable express facebook fastapi favicon fetch fifo filename filesystem firefox firewall fixture fixtures
flag flags flake8 flaky flask float flutter folder font footer fork formatter framework frontend fulltext function functions
fuzz fuzzing gateway gcc gcp gif git github gitignore gitlab gmail goroutine gpu gradle grafana graphql grep grpc gui gunicorn
gzip hadoop handler hash hashing hashmap header headers helm heroku homepage hook hooks hostname hotfix href html http https
hyperlink hyperparameter ide idempotent identifier iframe import imports inbox index indexes indices infra inline inode
instagram install installer integer integration interface ios ip iphone iterator java javascript jenkins jest jira join jpeg json
jupyter jwt kafka kanban kernel keyboard keychain keycloak kotlin kubernetes kubectl lambda laptop laravel latency layout leaderboard
library lifecycle linkedin lint linter linting linux llm localhost localization lockfile log logfile logger logging login logins
logout logs loop lua macos macro makefile malware markdown maven memoize merge metadata metrics microservice microservices
middleware migrate migration migrations minify mobile mock mocks modal model modem module modules mongodb monitor monorepo mp3
mp4 multithreaded mutex mypy mysql namespace navbar neovim nextjs nginx node nodejs notebook notebooks npm null numpy oauth
offline onboarding online oop openai openapi openssl optimizer orm outage overflow package packages pagination pandas param
parameter params parse parser parsing passphrase password passwords paste patch payload pdf perl permission permissions php
pip pipeline pipelines pixel playlist plugin plugins pod podcast podman polars poll polling popup port postgres postgresql
powershell prettier printf profiler prometheus prompt prompts prototype proxy pull push pydantic pytest python pytorch qa
query queries queue rabbitmq rails ram rate react readme realtime rebase rebuild recursion recursive redeploy redirect redis
refactor refactoring reformat regex regexes regression release releases rename render renderer replica repo repos repository
request requests reset resolver rest restart retries retry reverse revert roadmap rollback rollout root router routing rpc rsync
ruby ruff runbook runtime rust s3 saas sandbox scala scalability schema schemas scp scraper scraping screenshot screenshots
script scripts scrollbar sdk search selenium semver sentry seo serializer serverless server servers session sftp shader shell
sidebar signup singleton slack slider smartphone smtp snapshot snippet socket software sorting spark sparse spotify spreadsheet
sprint sql sqlalchemy sqlite ssh ssl stacktrace staging standup startup stderr stdin stdout storybook streaming stripe struct stub
stylesheet subdomain subnet subprocess subquery sudo svelte svg swagger swift symlink sync syntax syslog systemd tab tailwind
tarball tcp teamcity telegram template templates tensor tensorflow terminal terraform test testing tests texture thread
threading threads throughput throttle throttling ticket tickets timeout timeouts timestamp timestamps timezone tls todo token
tokenizer tokens toml tooltip toolchain traceback transaction transpile trie tsconfig tuple tutorial tweet twitter type typescript
typing typo typos ubuntu udp ui unicode unit unittest unix unzip upload uploads uptime url urls user username utf utils ux uuid
validate validation validator variable variables vector vendor venv verbose version versioning video viewport vim virtualenv
visualization vite vm volume vpc vpn vscode vue wasm webapp webhook webhooks webpack website websites websocket websockets
whatsapp whitespace widget wifi wiki wikipedia windows workflow workflows workspace wrapper xml xss yaml yarn youtube zip zod
""".split()


def terms(lines: list[str]) -> list[list[str]]:
    """The terms of each line, as the core makes them."""
    target = os.environ.get("CARGO_TARGET_DIR", str(HERE / "target"))
    program = Path(target) / "debug" / "loopwright-bench-senses-intent"
    if not program.exists():
        subprocess.run(["cargo", "build", "-q"], cwd=HERE, check=True)
    done = subprocess.run([program, "stems"], input="\n".join(lines) + "\n", capture_output=True, text=True, check=True)
    return [line.split() for line in done.stdout.split("\n")[: len(lines)]]


def main() -> None:
    rows = [line.split() for line in Path(sys.argv[1]).read_text(encoding="utf-8-sig").splitlines()]
    total = sum(int(count) for _, count in rows)
    names = [word for word, _ in rows]
    frequency: dict[str, int] = {}
    surface: dict[str, str] = {}
    for at, ((word, count), stems) in enumerate(zip(rows, terms(names), strict=True)):
        if len(stems) == 1:
            frequency[stems[0]] = frequency.get(stems[0], 0) + int(count)
            if at < WORDS:
                surface.setdefault(stems[0], word)
    for word, stems in zip(SOFTWARE, terms(SOFTWARE), strict=True):
        if len(stems) == 1:
            surface.setdefault(stems[0], word)
    keys = sorted(surface)
    vectors = MiniLM().encode([surface[key] for key in keys]).astype(np.float64)
    vectors -= vectors.mean(0)
    _, _, axes = np.linalg.svd(vectors, full_matrices=False)
    small = vectors @ axes[:NUMBERS].T
    small /= np.linalg.norm(small, axis=1, keepdims=True)
    small = np.clip(np.round(small * 7 / np.percentile(np.abs(small), 99.5)), -7, 7).astype(int) + 8
    out = bytearray(b"LWWORDS1") + len(keys).to_bytes(2, "little")
    for key, numbers in zip(keys, small, strict=True):
        count = frequency.get(key)
        # Books undercount words of software: none of them is rarer than a word that books do not know.
        bits = RARE if count is None else min(RARE, -math.log2(count / total))
        out += bytes([len(key)]) + key.encode() + bytes([round(4 * bits)])
        out += bytes(int(a) | int(b) << 4 for a, b in zip(numbers[::2], numbers[1::2], strict=True))
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_bytes(out)
    print(f"{len(keys)} words, {len(out)} bytes")


if __name__ == "__main__":
    main()
