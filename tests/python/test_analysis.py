"""The analysis room alone: with lists, arrays and buffers, and with what is none of them."""

from __future__ import annotations

import array
import doctest
import math
import pickle
import random
import subprocess
import sys

import loopwright.analysis as room
import pytest
from loopwright import UsageError
from loopwright.analysis import (
    Background,
    LatentPolicy,
    SelectPolicy,
    StopPolicy,
    StopRule,
    Thresholds,
    Trend,
    Z,
    coverage,
    enough,
    gain,
    latent,
    nearest,
    select,
    trend,
    usable,
)


def vectors(count: int, width: int, seed: int = 1) -> list[list[float]]:
    drawn = random.Random(seed)  # noqa: S311 - data
    return [[drawn.gauss(0, 1) for _ in range(width)] for _ in range(count)]


def cosine(a, b) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True)) / math.dist(a, [0] * len(a)) / math.dist(b, [0] * len(b))


def test_the_examples_hold():
    failed, tried = doctest.testmod(room)
    assert (failed, tried > 8) == (0, True)


def test_b20_selection_is_the_formula_applied_greedily():
    hyde, chunks, kept = vectors(3, 20), vectors(60, 20, 2), vectors(5, 20, 3)
    there, left, expected = list(kept), list(range(60)), []
    while len(expected) < 15:
        score, best = max(
            (0.65 * max(cosine(t, chunks[at]) for t in hyde) - 0.35 * max(cosine(k, chunks[at]) for k in there), -at)
            for at in left
        )
        there.append(chunks[-best])
        left.remove(-best)
        expected.append((-best, score))
    chosen = select(hyde, chunks, kept)
    assert [one.chunk for one in chosen] == [at for at, _ in expected]
    assert [one.score for one in chosen] == pytest.approx([score for _, score in expected], abs=1e-5)


def test_b20_copies_of_one_page_do_not_fill_a_cycle():
    page = vectors(1, 32)[0]
    batch = [[value + 1e-4 * at for value in page] for at in range(15)] + vectors(3, 32, 9)
    chosen = {one.chunk for one in select([page], batch)}
    assert len(chosen & set(range(15))) == 1
    assert chosen >= {15, 16, 17}
    assert len(select([page], batch, policy=SelectPolicy(copy=None))) == 15


def test_b21_b22_b24_x23_a_run_over_a_fixed_corpus_gives_the_same_curve():
    topics, corpus = vectors(4, 24), vectors(400, 24, 5)

    def curve() -> tuple[list[float], list[Trend], StopRule | None]:
        kept: list[list[float]] = []
        gains, words, last, rule = [], [], None, None
        for cycle in range(30):
            batch = corpus[cycle * 10 : cycle * 10 + 10] or []
            chosen = select(topics, batch, kept)
            kept += [batch[one.chunk] for one in chosen]
            covered = dict(zip("abcd", coverage(topics, kept), strict=True))
            if last is not None:
                gains.append(gain(last, covered))
            last = covered
            words.append(trend(gains))
            rule = enough(gains, accepted=len(chosen))
            if rule:
                break
        return gains, words, rule

    once = curve()
    assert once == curve()
    gains, words, rule = once
    assert rule is StopRule.DIMINISHING_RETURNS
    assert sum(gains[-2:]) / 2 < 0.005 <= sum(gains[-3:-1]) / 2
    assert words[0] is Trend.JUST_STARTING


def test_b23_x23_three_rules_each_on_its_own():
    assert enough([0.004, 0.004]) is StopRule.DIMINISHING_RETURNS
    assert enough([0.4], accepted=0) is StopRule.NO_NEW_CHUNK
    assert enough([0.4], accepted=2, claims=0) is StopRule.NO_NEW_CLAIM
    assert enough([0.4], StopPolicy(chunks=False, claims=False), accepted=0, claims=0) is None
    assert gain({"a": 0.1}, {"b": 0.4}) is None
    assert gain({"a": 0.1, "gone": 0.9}, {"new": 0.3, "a": 0.1}) == 0


def test_b25_clusters_are_found_and_held_against_the_outline():
    centres = vectors(3, 48, 7)
    chunks = [
        [value + 0.1 * noise for value, noise in zip(centres[at % 3], shift, strict=True)]
        for at, shift in enumerate(vectors(45, 48, 8))
    ]
    found = latent(chunks, centres[:2], LatentPolicy(clusters=3))
    assert sorted(len(one.members) for one in found) == [15, 15, 15]
    assert [one.members[0] % 3 for one in found if one.novel] == [2]
    assert latent(chunks, centres[:2], LatentPolicy(clusters=3)) == found


def test_x22_a_threshold_means_the_same_with_every_embedder():
    plain = vectors(300, 32)
    narrow = [[value + 3 for value in row] for row in plain]
    for rows in (plain, narrow):
        background = Background.measure(rows)
        assert Z(0).cosine(background) == pytest.approx(background.mean, abs=1e-6)
        cut = Z(4).cosine(background)
        assert all(cosine(rows[at], rows[at + 1]) < cut for at in range(0, 300, 2))
        assert background.z(background.cosine(1.5)) == pytest.approx(1.5, abs=1e-4)
        assert pickle.loads(pickle.dumps(background)) == background  # noqa: S301 - ours
    with pytest.raises(UsageError) as caught:
        latent(plain, plain, LatentPolicy(novel=Z(3)))
    assert caught.value.code == "no_background"
    assert Thresholds.original() == Thresholds(novel=0.65, epsilon=0.005, near=0.8)


def test_b16_the_nearest_past_query_is_named():
    assert nearest([3, 4], [[0, 1], [4, 3], [3, 4.1]])[0] == 2
    assert nearest([1, 0], []) is None


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ([[1.0, float("nan")]], "not_finite"),
        ([[1.0, float("inf")]], "not_finite"),
        ([[1.0, 1e300]], "not_finite"),
        ([[0.0, 0.0]], "zero_vector"),
        ([[1.0, 2.0], [1.0]], "ragged"),
        ([[]], "empty_vector"),
        ([["a", "b"]], "invalid_value"),
        (["ab"], "invalid_value"),
        ([1.0, 2.0], "invalid_value"),
        ("ab", "invalid_value"),
        (None, "invalid_value"),
        (7, "invalid_value"),
        ({"a": 1}, "invalid_value"),
        (memoryview(b"abcd"), "invalid_value"),
        (array.array("d", [1.0, 2.0]), "invalid_value"),
    ],
)
def test_what_is_no_vectors_is_a_usage_error(rows, code):
    for call in (
        lambda: coverage(rows, rows),
        lambda: select(rows, rows),
        lambda: latent(rows),
        lambda: select(rows, []),
    ):
        with pytest.raises(UsageError) as caught:
            call()
        assert caught.value.code == code


@pytest.mark.parametrize(
    "call",
    [
        lambda: trend(["x"]),
        lambda: trend(None),
        lambda: enough([0.1], accepted=-1),
        lambda: enough([0.1], StopPolicy(epsilon=float("nan"))),
        lambda: select([[1]], [[1]], policy=SelectPolicy(top=-1)),
        lambda: select([[1]], [[1]], policy=SelectPolicy(relevance=2)),
        lambda: latent([[1]], policy=LatentPolicy(clusters=0)),
        lambda: latent([[1]], policy=LatentPolicy(clusters=10**9)),
        lambda: gain(["a"], {}),
        lambda: gain({"a": "b"}, {}),
        lambda: Background(0.1, 0),
        lambda: Background.measure([[1.0]]),
        lambda: Background.measure([[1.0, 2.0]] * 20),
    ],
)
def test_other_nonsense_is_a_usage_error_too(call):
    with pytest.raises(UsageError):
        call()


def test_vectors_that_will_not_do_can_be_left_out():
    assert usable([[0, 0], [1, 2], [1], [float("nan"), 1], [], [3, 1]]) == [1, 5]
    assert usable([]) == []


def test_numpy_is_never_imported():
    code = "import sys, loopwright.analysis as a; a.coverage([[1, 0]], [[1, 0]]); assert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


class TestArrays:
    """Arrays of NumPy give what lists give, however they lie in memory."""

    @pytest.fixture
    def np(self):
        return pytest.importorskip("numpy")

    def test_they_give_what_lists_give(self, np):
        rows = vectors(40, 17)
        lists = [coverage(rows[:5], rows[5:]), select(rows[:5], rows[5:]), latent(rows[5:], rows[:5])]
        single = np.array(rows, dtype=np.float32)
        strange = [
            single,
            np.asfortranarray(single),
            np.array(rows),
            single.astype(">f4"),
            np.repeat(single, 2, axis=0)[::2],
            np.repeat(single, 2, axis=1)[:, ::2],
            np.frombuffer(b"x" + single.tobytes(), dtype=np.uint8)[1:].view(np.float32).reshape(single.shape),
        ]
        for rows in strange:
            assert [coverage(rows[:5], rows[5:]), select(rows[:5], rows[5:]), latent(rows[5:], rows[:5])] == lists
            as_lists = [list(rows[:5]), list(rows[5:])]
            assert coverage(*as_lists) == lists[0]
        assert nearest(single[3], single) == (3, 1.0)

    def test_nothing_is_copied(self, np):
        # 400 MB would show.
        import resource

        rows = np.ones((100_000, 1000), dtype=np.float32)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        coverage(rows[:1], rows)
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000

    def test_buffers_and_tensors(self, np):
        rows = np.array(vectors(6, 5), dtype=np.float32)
        wanted = coverage(rows, rows)
        assert coverage(memoryview(rows), memoryview(rows)) == wanted

        class Tensor:
            def __init__(self, inner):
                self.inner = inner

            def __dlpack__(self, **options):
                return self.inner.__dlpack__(**options)

            def __dlpack_device__(self):
                return self.inner.__dlpack_device__()

        assert coverage(Tensor(rows), Tensor(rows)) == wanted

    @pytest.mark.parametrize("shape", [(3,), (2, 2, 2), ()])
    def test_other_shapes_are_refused(self, np, shape):
        with pytest.raises(UsageError):
            coverage(np.ones(shape, dtype=np.float32), [[1.0]])

    def test_empty_ones(self, np):
        assert coverage(np.ones((2, 4), dtype=np.float32), np.empty((0, 4), dtype=np.float32)) == [0.0, 0.0]
        with pytest.raises(UsageError):
            coverage(np.empty((3, 0), dtype=np.float32), np.empty((0, 4), dtype=np.float32))

    @pytest.mark.parametrize("kind", ["O", "U3", "c8", "?", "M8[s]"])
    def test_other_types_are_refused(self, np, kind):
        with pytest.raises(UsageError):
            coverage(np.zeros((2, 2), dtype=kind), [[1.0]])

    def test_an_address_is_not_believed(self):
        class Liar:
            __array_interface__ = {"data": (8, False), "typestr": "<f4", "shape": (1000, 1000), "strides": None}

        with pytest.raises(UsageError):
            coverage(Liar(), [[1.0]])
