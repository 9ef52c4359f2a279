import gzip
import random
from pathlib import Path

import numpy as np
import pytest

from clsviz.errors import CorpusError
from clsviz.sources.published_task import TaskFile, read_task

COUNTS = {"tr": (9, 7), "va": (3, 4), "te": (2, 5)}


def lines() -> list[tuple[str, str, str]]:
    """Sentences of two classes, so many of each in each partition, in random order."""
    found = [
        (partition, str(label), f"{partition} {label} number {i}")
        for partition, counts in COUNTS.items()
        for label, count in enumerate(counts)
        for i in range(count)
    ]
    random.Random(0).shuffle(found)
    return found


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "sentence_length.txt"
    path.write_text("".join("\t".join(line) + "\n" for line in lines()), encoding="utf-8")
    return path


def rows(file: TaskFile) -> list[tuple[str, str, str]]:
    return [
        (list(COUNTS)[partition], file.classes[label], sentence)
        for partition, label, sentence in zip(file.partitions, file.labels, file.sentences, strict=True)
    ]


def test_every_line_is_read_with_its_partition_and_class(path: Path) -> None:
    file = read_task(path)
    assert sorted(rows(file)) == sorted(lines())
    assert file.classes == ("0", "1")
    assert file.counts.tolist() == [list(counts) for counts in COUNTS.values()]
    packed = path.with_suffix(".txt.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert rows(read_task(packed)) == rows(file)
    assert read_task(packed).fingerprint == file.fingerprint


def test_fewer_of_each_class_are_the_beginning_of_more(path: Path) -> None:
    file = read_task(path)
    for per_class in (1, 3, 5):
        head = file.head(per_class)
        assert head.counts.tolist() == np.minimum(file.counts, per_class).tolist()
        assert rows(head) == rows(file)[: len(head.sentences)]
        assert head.fingerprint == file.fingerprint
    assert rows(file.head(None)) == rows(file)


def test_quotes_more_fields_and_other_line_breaks_are_taken_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "task.tsv"
    path.write_bytes('tr\tB\t"quoted\r\n\r\ntr\tA\tmore\tcafé\r\nva\tA\tone\r\nte\tB\ttwo'.encode())
    file = read_task(path)
    assert sorted(rows(file)) == [("te", "B", "two"), ("tr", "A", "café"), ("tr", "B", '"quoted'), ("va", "A", "one")]


def test_numbers_stand_in_their_order_before_other_classes(tmp_path: Path) -> None:
    path = tmp_path / "task.txt"
    path.write_text("".join(f"tr\t{label}\ta b\n" for label in ("10", "x", "9", "a")) + "va\t9\tc\nte\tx\td\n")
    assert read_task(path).classes == ("9", "10", "a", "x")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("one sentence\nanother", "Line 1 of task.txt is “one sentence”; it must have a partition"),
        ("tr\t0\tone\ntest\t0\ttwo", "Line 2 of task.txt begins with “test”; it must begin with tr, va or te."),
        ("tr\t0\tone\nva\t\ttwo", "Line 2 of task.txt has no class."),
        ("tr\t0\t ", "Line 1 of task.txt has no sentence."),
        ("tr\t0\tone\ntr\t1\ttwo\nva\t0\tthree", "no test sentences: no line begins with te"),
        ("tr\t0\tone\nva\t0\ttwo\nte\t0\tthree", "are of 1 class; there must be 2 to 100"),
        ("tr\t0\ta\ntr\t1\tb\nva\t2\tc\nte\t0\td", "is of the class “2”, but others are"),
        ("", "holds no text"),
        ("\0\0", "is not a text file"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "task.txt"
    path.write_text(text)
    with pytest.raises(CorpusError, match=problem.replace("(", r"\(")):
        read_task(path)
    with pytest.raises(CorpusError, match="There is no file"):
        read_task(tmp_path / "nowhere.txt")
