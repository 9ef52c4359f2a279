"""The SentLen task, against scikit-learn's own search and a code written out by hand."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, confusion_matrix
from sklearn.model_selection import GridSearchCV, PredefinedSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from clsviz.errors import UndefinedFitError
from clsviz.statistics import sentlen
from clsviz.statistics.sentlen import BINS, STRENGTHS, Task, online_code

N_OF_BIN = (90, 80, 70, 60, 50, 40)


def sentences_of(n_of_bin: tuple[int, ...] = N_OF_BIN, seed: int = 0) -> list[str]:
    """So many different sentences of each bin, in random order."""
    random = np.random.default_rng(seed)
    found = []
    for (low, high), n in zip(BINS, n_of_bin, strict=True):
        for _ in range(n):
            name = "".join(chr(97 + int(digit)) for digit in str(len(found)))  # numbers that differ make no difference
            found.append(" ".join([name, *["and"] * int(random.integers(low - 1, high))]))
    return [found[index] for index in random.permutation(len(found))]


def words_of(sentences: list[str]) -> np.ndarray:
    return np.array([len(sentence.split()) for sentence in sentences])


@pytest.fixture(scope="module")
def sentences() -> list[str]:
    return sentences_of()


@pytest.fixture(scope="module")
def split(sentences: list[str]) -> Task:
    return sentlen.task(sentences)


@pytest.fixture(scope="module")
def noisy(sentences: list[str]) -> np.ndarray:
    """Float32 vectors in which the number of words shows, but not plainly."""
    random = np.random.default_rng(3)
    vectors = random.normal(size=(len(sentences), 12)) * random.uniform(0.1, 10, 12)
    vectors[:, :2] += np.stack([words_of(sentences) / 4, np.cos(words_of(sentences) / 4)], axis=1)
    return vectors.astype(np.float32)


def test_classes_are_balanced_in_every_split(sentences: list[str], split: Task) -> None:
    for index, n in ((split.train, 24), (split.dev, 8), (split.test, 8)):
        assert np.bincount(split.labels[index]).tolist() == [n] * 6
    together = np.concatenate([split.train, split.dev, split.test])
    assert len(set(together.tolist())) == len(together) == 240
    np.testing.assert_array_equal(np.sort(together), np.flatnonzero(split.labels >= 0))
    low, high = np.array(BINS)[split.labels[together]].T
    n_words = words_of(sentences)[together]
    assert ((low <= n_words) & (n_words <= high)).all()


def test_which_sentences_are_drawn_depends_on_the_seed_alone(sentences: list[str], split: Task) -> None:
    np.testing.assert_array_equal(sentlen.task(sentences).train, split.train)
    assert set(sentlen.task(sentences, seed=1).test.tolist()) != set(split.test.tolist())
    assert set(np.flatnonzero(sentlen.task(sentences, seed=1).labels == 0)) != set(np.flatnonzero(split.labels == 0))


def test_a_class_is_bounded(sentences: list[str]) -> None:
    small = sentlen.task(sentences, most_per_class=20)
    assert (len(small.train), len(small.dev), len(small.test)) == (72, 24, 24)


EDGES = [(0, -1), (4, -1), (29, -1)] + [(n, label) for label, edges in enumerate(BINS) for n in edges]


@pytest.mark.parametrize(("n_words", "label"), EDGES)
def test_the_edges_of_the_bins(n_words: int, label: int) -> None:
    """In bins of ten, of which all are drawn, and the sentence in question the tenth."""
    others = sentences_of(tuple(10 - (index == label) for index in range(6)))
    found = sentlen.task([*others, " \t".join(["one,"] * n_words)])
    assert len(found.train) == 6 * 6
    assert found.labels[-1] == label


def test_of_near_duplicates_only_the_first_is_taken() -> None:
    first = sentences_of((10,) * 6)
    again = [sentence.upper().replace("AND", "A\u0301ND").replace(" ", ",  ") for sentence in first]
    found = sentlen.task([*first, *again, *first])
    assert (found.labels[:60] >= 0).all()
    assert (found.labels[60:] == -1).all()
    assert (sentlen.task([*first, *first], clusters=np.arange(120)).labels >= 0).all()


def test_near_copies_do_not_raise_the_accuracy() -> None:
    """Of vectors that say which sentence it is and nothing of its length, as those of copies of a sentence would."""
    first = sentences_of((30,) * 6)
    copies = [f"{sentence}!" for sentence in first]
    random = np.random.default_rng(0)
    vectors = np.tile(random.normal(size=(180, 200)), (3, 1)) + 0.01 * random.normal(size=(540, 200))
    sentences = [*first, *copies, *map(str.upper, first)]
    grouped = sentlen.classify(vectors, sentlen.task(sentences))
    apart = sentlen.classify(vectors, sentlen.task(sentences, clusters=np.arange(540)))
    assert grouped.interval[0] < sentlen.CHANCE < grouped.interval[1]
    assert apart.interval[0] > 3 * sentlen.CHANCE  # which is what the groups are for


@pytest.mark.parametrize(
    ("n_of_bin", "says"),
    [
        ((20, 20, 20, 20, 20, 0), "none has 26 to 28 words"),
        ((20, 1, 20, 20, 20, 9), "only 1 has 9 to 12 words"),
        ((20, 20, 20, 20, 9, 20), "only 9 have 21 to 25 words, and each of the six bins needs at least 10"),
    ],
)
def test_too_few_sentences_of_a_bin(n_of_bin: tuple[int, ...], says: str) -> None:
    with pytest.raises(UndefinedFitError, match=says):
        sentlen.task(sentences_of(n_of_bin))


def test_no_sentence_at_all_is_too_few() -> None:
    with pytest.raises(UndefinedFitError, match="none has 5 to 8 words"):
        sentlen.task([])


def test_the_result_is_that_of_a_grid_search_on_dev_and_one_look_at_test(noisy: np.ndarray, split: Task) -> None:
    rows = np.concatenate([split.train, split.dev])
    folds = PredefinedSplit(np.repeat([-1, 0], [len(split.train), len(split.dev)]))
    pipeline = make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000, tol=1e-6))
    grid = {"logisticregression__C": sorted(STRENGTHS)}
    search = GridSearchCV(pipeline, grid, cv=folds, refit=False).fit(noisy[rows].astype(float), split.labels[rows])
    found = sentlen.classify(noisy, split)
    assert found.strength == search.best_params_["logisticregression__C"]
    assert found.dev_accuracy == pytest.approx(search.best_score_)
    pipeline.set_params(**search.best_params_).fit(noisy[split.train].astype(float), split.labels[split.train])
    predicted = pipeline.predict(noisy[split.test].astype(float))
    assert found.accuracy == pytest.approx(accuracy_score(split.labels[split.test], predicted))
    np.testing.assert_array_equal(found.confusion, confusion_matrix(split.labels[split.test], predicted))
    assert (found.n_train, found.n_dev, found.n_test) == (144, 48, 48)
    assert 0.2 < found.accuracy < 0.9  # else the above says little


def test_the_interval_is_wilsons(noisy: np.ndarray, split: Task) -> None:
    found = sentlen.classify(noisy, split)
    z, n, p = stats.norm.ppf(0.975), found.n_test, found.accuracy
    centre = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    margin = z / (1 + z**2 / n) * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    assert found.interval == pytest.approx((centre - margin, centre + margin))


def test_of_strengths_that_do_equally_well_the_smallest_is_taken(sentences: list[str], split: Task) -> None:
    """As all do where the classes are far apart."""
    corners = np.eye(6)[split.labels] * 100
    found = sentlen.classify(corners, split)
    assert (found.strength, found.accuracy) == (min(STRENGTHS), 1)
    assert list(STRENGTHS) == sorted(STRENGTHS)


def test_one_number_can_be_enough(sentences: list[str], split: Task) -> None:
    found = sentlen.classify(words_of(sentences), split)
    assert found.accuracy > 0.9
    reversed_and_far_off = sentlen.classify((1e3 - 0.01 * words_of(sentences)).astype(np.float32), split)
    assert reversed_and_far_off.accuracy > 0.9


def test_a_small_deviation_from_a_large_mean_is_read(sentences: list[str], split: Task) -> None:
    vectors = np.full((len(sentences), 5), 8.0)
    vectors[:, 2] += 1e-4 * words_of(sentences)
    assert sentlen.classify(vectors.astype(np.float32), split).accuracy > 0.9


@pytest.mark.parametrize(("width", "what"), [(None, "norm"), (7, "vector")])
def test_nothing_is_read_from_rounding(split: Task, width: int | None, what: str) -> None:
    shape = (len(split.labels),) if width is None else (len(split.labels), width)
    features = 7 + 1e-7 * np.random.default_rng(0).normal(size=shape)
    with pytest.raises(UndefinedFitError, match=f"The {what} is the same for all sentences"):
        sentlen.classify(features, split)


def test_what_would_be_in_the_rarest_bin_falls_short() -> None:
    sentences = [
        f"{'word ' * (low - 1)}{'abcde'[copy]}"
        for low in (5, 9, 13, 17, 21, 26)
        for copy in range(4 if low == 17 else 5)
    ]
    falls_short = sentlen.falls_short(sentences, np.arange(len(sentences)))
    assert [n for n in range(1, 40) if falls_short("word " * n)] == [17, 18, 19, 20]


def task_of(n: int, k: int = 3, seed: int = 0) -> Task:
    """n training sentences of k classes, and half as many to choose on."""
    labels = np.random.default_rng(seed).permutation(np.arange(n + n // 2) % k)
    return Task(labels, np.arange(n), np.arange(n, len(labels)), np.arange(0))


def test_the_bits_are_those_of_a_code_written_out_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    task = task_of(80)
    random = np.random.default_rng(1)
    x = random.standard_normal((120, 4)) + 2 * np.eye(3, 4)[task.labels]
    monkeypatch.setattr("clsviz.statistics.sentlen.STRENGTHS", (1.0,))
    order = np.random.default_rng(0).permutation(80)
    x_train, labels = x[order], task.labels[order]
    ends = [end for end in (1, 2, 3, 5, 10, 20, 40, 80) if set(labels[:end]) == {0, 1, 2}]
    bits = ends[0] * math.log2(3)
    for start, stop in pairwise(ends):
        scaler = StandardScaler().fit(x_train[:start])
        probe = LogisticRegression(C=1.0, max_iter=5000, tol=1e-8).fit(
            scaler.transform(x_train[:start]), labels[:start]
        )
        for row, label in zip(x_train[start:stop], labels[start:stop], strict=True):
            bits -= math.log2(probe.predict_proba(scaler.transform(row[None]))[0, label])
    code = online_code(x, task)
    assert code.bits == pytest.approx(bits, rel=1e-3)
    assert code.uniform_bits == pytest.approx(80 * math.log2(3))
    assert code.n == 80


def test_the_penalty_is_the_one_with_the_least_loss_on_the_dev_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    task = task_of(200)
    x = np.random.default_rng(3).standard_normal((300, 60)) + np.eye(3, 60)[task.labels]
    chosen = online_code(x, task).bits
    alone = []
    for strength in STRENGTHS:
        monkeypatch.setattr("clsviz.statistics.sentlen.STRENGTHS", (strength,))
        alone.append(online_code(x, task).bits)
    assert chosen < alone[-1]  # the weakest penalty fits noise
    assert chosen <= min(alone) * 1.05


def test_too_few_for_every_class_are_coded_as_equally_likely() -> None:
    task = Task(np.array([0, 1, 2, 0, 1, 2]), np.arange(3), np.arange(3, 6), np.arange(0))
    code = online_code(np.arange(6.0), task)
    assert code.bits == pytest.approx(code.uniform_bits) == pytest.approx(3 * math.log2(3))
