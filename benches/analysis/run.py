"""The numeric work of a research cycle, beside NumPy and scikit-learn: the same numbers, and how long they take.

Run with a release build of the package, NumPy and scikit-learn installed:

    python benches/analysis/run.py
"""

from __future__ import annotations

import os
import platform
import time

# One thread each: a fair comparison, and the same numbers every time.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA

from loopwright.analysis import Background, LatentPolicy, SelectPolicy, coverage, latent, select

ROUNDS = 7


def best(work) -> tuple[float, object]:
    """Milliseconds of the best of several rounds, and what came of it."""
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        out = work()
        times.append(time.perf_counter() - began)
    return min(times) * 1000, out


def corpus(count: int, width: int, subjects: int = 12, seed: int = 1) -> np.ndarray:
    """Chunks about a dozen subjects, as embedders place them: near their subject, with a direction common to all."""
    drawn = np.random.default_rng(seed)
    centres = drawn.normal(size=(subjects, width))
    rows = centres[drawn.integers(subjects, size=count)] + 0.9 * drawn.normal(size=(count, width)) + 0.4
    return rows.astype(np.float32)


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def select_numpy(hyde, chunks, kept, top=15):
    hyde, chunks, kept = unit(hyde), unit(chunks), unit(kept)
    relevance = (chunks @ hyde.T).max(axis=1)
    near = (chunks @ kept.T).max(axis=1)
    chosen, alive = [], np.ones(len(chunks), dtype=bool)
    for _ in range(top):
        score = np.where(alive, 0.65 * relevance - 0.35 * near, -np.inf)
        at = int(score.argmax())
        chosen.append(at)
        alive[at] = False
        near = np.maximum(near, chunks @ chunks[at])
    return chosen


def latent_sklearn(chunks, clusters=8):
    points = PCA(10, random_state=42).fit_transform(unit(chunks))
    model = KMeans(clusters, n_init=8, random_state=42).fit(points)
    return model.inertia_, model.labels_


def inertia(chunks, clusters) -> float:
    """The spread of our clusters in scikit-learn's own coordinates: no better in ours only because they are ours."""
    points = PCA(10, random_state=42).fit_transform(unit(chunks))
    return sum(((points[one.members] - points[one.members].mean(axis=0)) ** 2).sum() for one in clusters)


def main() -> None:
    print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}, NumPy {np.__version__}")
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n")
    print("| work | size | loopwright ms | NumPy / scikit-learn ms | same |")
    print("| --- | --- | --- | --- | --- |")
    for count, kept_count, width in ((200, 60, 384), (1000, 300, 384), (1000, 300, 1536)):
        chunks, kept, hyde = corpus(count, width), corpus(kept_count, width, seed=2), corpus(6, width, seed=3)
        policy = SelectPolicy(copy=None)
        ours, got = best(lambda: select(hyde, chunks, kept, policy))  # noqa: B023
        theirs, wanted = best(lambda: select_numpy(hyde, chunks, kept))  # noqa: B023
        same = [one.chunk for one in got] == wanted
        print(f"| select | {count} chunks, {kept_count} kept, {width} wide | {ours:.2f} | {theirs:.2f} | {same} |")
        ours, got = best(lambda: coverage(hyde, chunks))  # noqa: B023
        theirs, wanted = best(lambda: (unit(hyde) @ unit(chunks).T).max(axis=1))  # noqa: B023
        same = bool(np.allclose(got, wanted, atol=1e-5))
        print(f"| coverage | 6 topics, {count} chunks, {width} wide | {ours:.2f} | {theirs:.2f} | {same} |")
        ours, got = best(lambda: latent(chunks, hyde, LatentPolicy()))  # noqa: B023
        theirs, (spread, _) = best(lambda: latent_sklearn(chunks))  # noqa: B023
        ratio = inertia(chunks, got) / spread
        print(f"| latent | {count} chunks, {width} wide | {ours:.2f} | {theirs:.2f} | spread {ratio:.3f} of theirs |")
    vectors = corpus(2000, 384)
    ours, got = best(lambda: Background.measure(vectors))
    whole = unit(vectors) @ unit(vectors).T
    exact = whole[np.triu_indices(len(vectors), 1)]
    print(
        f"| background | 2000 vectors, 384 wide, 20,000 pairs | {ours:.2f} | - | mean {got.mean:.4f} of "
        f"{exact.mean():.4f}, deviation {got.deviation:.4f} of {exact.std():.4f} |"
    )


if __name__ == "__main__":
    main()
