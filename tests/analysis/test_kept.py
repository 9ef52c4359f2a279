"""Results that are kept."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from clsviz import analysis, models, statistics
from clsviz.analysis import Kept, kept, question, question_of_sentences
from clsviz.experiment import Experiment, View
from clsviz.measuring import Encoders, Extraction, Found, Store
from clsviz.progress import Progress
from clsviz.settings import Precision, Unit


@pytest.fixture(scope="module")
def found(tiny_folder: Path, text_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Found:
    experiment = Experiment(str(tiny_folder), str(text_file), sample_size=300)
    return Extraction(experiment, Store(tmp_path_factory.mktemp("store")), Encoders()).run(Progress())


def asked(found: Found, **view: object) -> kept.Question:
    return question(analysis.shapes, found, view=replace(View(), **view))


def test_a_result_is_computed_once(found: Found, tmp_path: Path) -> None:
    shown = analysis.select(found, View())
    n_computed = 0

    def work() -> statistics.Quantiles | None:
        nonlocal n_computed
        n_computed += 1
        return analysis.quantiles(shown)

    for _ in range(2):
        assert Kept(tmp_path).of(asked(found), work) == analysis.quantiles(shown)
    assert n_computed == 1
    Kept(tmp_path).of(asked(found, unit=Unit.WORDS), work)
    assert n_computed == 2


def test_a_kept_line_is_the_computed_one(found: Found, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = analysis.select(found, View(), kept=Kept(tmp_path))
    monkeypatch.setattr("clsviz.statistics.fit", lambda *_: pytest.fail("it is computed again"))
    second = analysis.select(found, View(), kept=Kept(tmp_path))
    assert vars(second.fit).keys() == vars(first.fit).keys()
    assert second.fit.r_squared == first.fit.r_squared
    assert second.fit.band([5, 9])[0].tolist() == first.fit.band([5, 9])[0].tolist()
    assert second.clusters.tolist() == first.clusters.tolist()
    assert second.norms.tolist() == first.norms.tolist()


def test_what_a_result_depends_on_is_in_the_question(found: Found) -> None:
    others = [
        asked(found, length_cutoff=20),
        asked(found, layer=1),
        question(analysis.by_cutoff, found, view=View()),
        question(analysis.shapes, found, view=View(), extra="a choice"),
        question(analysis.shapes, found, found, view=View()),
        asked(replace(found, seed=1)),
        asked(replace(found, weights=replace(found.weights, fingerprint="other"))),
        asked(replace(found, sample=found.sample.head(200), measurements=found.measurements.head(200))),
    ]
    assert len({asked(found).digest, *(other.digest for other in others)}) == 9
    assert asked(found) == asked(found)


def test_a_part_of_a_sample_is_not_kept(found: Found, tmp_path: Path) -> None:
    part = replace(found, measurements=found.measurements.head(128))
    Kept(tmp_path).put(asked(part), 1.5)
    assert not list(tmp_path.iterdir())
    Kept(None).put(asked(found), 1.5)
    Kept(tmp_path).put(asked(found), None)
    assert not list(tmp_path.iterdir())


def test_only_whole_work_is_kept(found: Found, tmp_path: Path) -> None:
    def steps() -> Iterator[float]:
        yield from (0.5, 1.5, 2.5)

    results = Kept(tmp_path)
    half = results.keeping(asked(found), steps)()
    assert [next(half), next(half)] == [0.5, 1.5]
    half.close()
    assert asked(found) not in results
    assert list(results.keeping(asked(found), steps)()) == [0.5, 1.5, 2.5]
    assert results.get(asked(found)) == 2.5


@pytest.mark.parametrize("damage", ["cut short", "one byte", "empty"])
def test_what_is_damaged_is_computed_again(found: Found, tmp_path: Path, damage: str) -> None:
    results = Kept(tmp_path)
    results.put(asked(found), [1.5] * 9)
    (path,) = tmp_path.iterdir()
    content = path.read_bytes()
    middle = len(content) // 2
    changed = {"cut short": content[:-1], "one byte": content[:middle] + b"\0" + content[middle + 1 :], "empty": b""}
    path.write_bytes(changed[damage])
    assert results.get(asked(found)) is None
    assert results.of(asked(found), lambda: 7.5) == 7.5


def test_results_of_other_code_do_not_count(found: Found, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = Kept(tmp_path)
    results.put(asked(found), 1.5)
    assert asked(found) in results
    monkeypatch.setattr(kept, "_code", lambda: "changed")
    assert asked(found) not in results


def test_what_came_along_counts_only_for_measurements_that_came_along(found: Found, tmp_path: Path) -> None:
    kept.write(tmp_path / "shipped", asked(found), 1.5)
    results = Kept(tmp_path / "own", tmp_path / "shipped")
    assert results.get(asked(found)) is None
    shipped = replace(found, n_shipped=300)
    assert results.get(asked(shipped)) == 1.5
    results.put(asked(found), 2.5)
    assert (results.get(asked(found)), results.get(asked(shipped))) == (2.5, 1.5)


def test_the_oldest_are_removed(found: Found, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST_KEPT", 3)
    results = Kept(tmp_path)
    for cutoff in range(10, 16):
        results.put(asked(found, length_cutoff=cutoff), float(cutoff))
        for path in tmp_path.iterdir():
            os.utime(path, (path.stat().st_atime, path.stat().st_mtime - 10))
    assert [results.get(asked(found, length_cutoff=cutoff)) for cutoff in range(10, 16)] == [None] * 3 + [13, 14, 15]


def test_what_visitors_type_is_never_kept(tmp_path: Path) -> None:
    results = Kept(tmp_path)
    typed = question_of_sentences("typed", models.find("minilm"), Precision.EXACT, ["My secret."])
    results.put(typed, 1.5)
    assert not list(tmp_path.iterdir())
    kept.write(tmp_path / "shipped", typed, 2.5)
    assert Kept(tmp_path, tmp_path / "shipped").get(typed) == 2.5
