"""Tables of numbers as plain columns, and back."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from numpy.typing import NDArray


def table(columns: Mapping[str, NDArray[Any]]) -> pd.DataFrame:
    """The table with these columns."""
    return pd.DataFrame(dict(columns))
