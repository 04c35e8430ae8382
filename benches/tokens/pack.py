"""Packs a `.tiktoken` file of ranks into the form that `crates/tokens/src/` carries.

    python benches/tokens/pack.py o200k_base.tiktoken crates/tokens/src/data/o200k_base.bin

Where the files come from, and their hashes, is in docs/tokens.md. The packed form, little-endian:

    u32 number of tokens, then for each token, in the order of ranks, one byte of length; then one byte each that says
    where the token's last merge joins its two halves (0: no merge makes it, it is met as a whole piece only);
    then the bytes of all tokens, one after another.
"""

import base64
import hashlib
import struct
import sys
from pathlib import Path


def last_merge(token, ranks):
    """Where the two parts meet that the last merge of this token joins, and whether merging gives the token."""
    parts = [token[i : i + 1] for i in range(len(token))]
    while len(parts) > 2:
        best = min(
            (
                (ranks.get(parts[i] + parts[i + 1]), i)
                for i in range(len(parts) - 1)
                if parts[i] + parts[i + 1] in ranks
            ),
            default=None,
        )
        if best is None:
            return 0
        at = best[1]
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return len(parts[0]) if len(parts) == 2 else 0


def main():
    source, target = sys.argv[1:]
    raw = Path(source).read_bytes()
    print("sha256", hashlib.sha256(raw).hexdigest())
    tokens = []
    for line in raw.splitlines():
        if line:
            token, rank = line.split()
            assert int(rank) == len(tokens), "ranks must run from 0 without a gap"
            tokens.append(base64.b64decode(token))
    ranks = {token: rank for rank, token in enumerate(tokens)}
    assert len(ranks) == len(tokens)
    splits = [last_merge(token, ranks) for token in tokens]
    whole_only = [token for token, split in zip(tokens, splits, strict=True) if len(token) > 1 and not split]
    late = [
        (tokens[rank][:split], tokens[rank][split:])
        for rank, split in enumerate(splits)
        if split and max(ranks[tokens[rank][:split]], ranks[tokens[rank][split:]]) >= rank
    ]
    print(len(tokens), "tokens;", len(whole_only), "that no merge makes", whole_only[:5])
    print(len(late), "made of a half that ranks after them", late[:5])
    with open(target, "wb") as out:
        out.write(struct.pack("<I", len(tokens)))
        out.write(bytes(len(token) for token in tokens))
        out.write(bytes(splits))
        out.write(b"".join(tokens))


main()
