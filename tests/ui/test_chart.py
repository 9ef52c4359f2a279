"""Messages of charts."""

from typing import Any

import pytest

from clsviz.ui import chart


@pytest.mark.parametrize(
    ("picked", "rows"),
    [
        ({"rows": [3, 1], "table": "t"}, [3, 1]),
        ({"rows": [3], "table": "another"}, []),
        ({"rows": [True, 1.5, -1, "2", None, [4], 5], "table": "t"}, [5]),
        ({"rows": {"0": 1}, "table": "t"}, []),
        ({"table": "t"}, []),
        ("forged", []),
        (None, []),
    ],
)
def test_only_rows_of_the_table_are_taken_from_a_browser(picked: Any, rows: list[int]) -> None:
    assert chart.rows_of(picked, "t") == rows
