import io

import numpy as np
import pyarrow.parquet as pq
from hub.client import parquet

from clsviz.sources import row_groups
from clsviz.sources.row_groups import Limits, RowGroup

ROWS = {f"{n}.parquet": rows for n, rows in enumerate([20, 20, 40, 60, 100, 400, 1000])}
FOOTERS = {
    path: pq.read_metadata(io.BytesIO(parquet({"text": ["text"] * rows})))
    for path, rows in ROWS.items()
}


def order(seed: int, files_at_once: int) -> list[RowGroup]:
    """All row groups of the files in the order of a seed."""
    groups: list[RowGroup] = []
    for number, window in enumerate(row_groups.windows(ROWS, seed, files_at_once)):
        groups += row_groups.deal(window, FOOTERS, "text", [seed, number])[0]
    return groups


def test_every_row_group_comes_once() -> None:
    n = sum(footer.num_row_groups for footer in FOOTERS.values())
    for files_at_once in (1, 3, 64):
        groups = order(0, files_at_once)
        assert len(groups) == len({(group.path, group.number) for group in groups}) == n
        assert order(0, files_at_once) == groups


def test_row_groups_of_small_and_large_files_are_equally_likely_to_come_early() -> None:
    n = sum(footer.num_row_groups for footer in FOOTERS.values())
    for files_at_once in (3, 64):
        small = [
            sum(ROWS[group.path] <= 100 for group in order(seed, files_at_once)[:10])
            for seed in range(100)
        ]
        expected = 10 * sum(FOOTERS[path].num_row_groups for path in ROWS if ROWS[path] <= 100) / n
        error = np.std(small) / len(small) ** 0.5
        assert abs(np.mean(small) - expected) < 4 * error + 0.15 * expected * (files_at_once == 3)


def test_beginnings_have_the_same_share_of_each_file() -> None:
    for seed in range(20):
        first = order(seed, 64)[:41]  # half of them
        for path, rows in ROWS.items():
            assert abs(sum(group.path == path for group in first) - rows / 40) <= 1.5


def test_rounds_end_when_they_are_full() -> None:
    groups = [RowGroup("", n, 30, 10) for n in range(7)]
    assert [len(r) for r in row_groups.rounds(groups, Limits(round_rows=90))] == [3, 3, 1]
    assert [len(r) for r in row_groups.rounds(groups, Limits(round_bytes=20))] == [2, 2, 2, 1]
