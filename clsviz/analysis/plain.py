"""Results as JSON and arrays, and back. Only what is listed here can come of a file."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clsviz import analysis, encoder, settings, statistics, vectors

Arrays = dict[str, NDArray[Any]]

_CLASSES: Mapping[str, Any] = {
    "settings": ("Pooling", "Unit", "Lengths"),
    "vectors": ("Vectors", "Packed"),
    "statistics.results": (
        *(
            "Fit",
            "Flat",
            "Extremes",
            "Quantiles",
            "Shape",
            "Readout",
            "Reading",
            "Profile",
            "Result",
            "Code",
            "Dimensions",
        ),
        *("NormOf", "Left", "Erasure", "LengthBias", "Chance", "Remedy", "Projection"),
    ),
    "analysis.layers": ("SentLen", "NormBreakdown", "Projected"),
    "analysis.search": ("Similarity", "Way", "Joined"),
    "analysis.typed": ("TypedSentences", "Check", "OfLayer"),
    "encoder": ("Anatomy", "Architecture", "TokenizerFacts", "SpecialToken", "PoolerWeights", "Parameter"),
}
"""The classes of results by where they are found; they are loaded only when they are met."""

_PLACES = {name: place for place, names in _CLASSES.items() for name in names}

_ROOTS = {"analysis": analysis, "encoder": encoder, "settings": settings, "statistics": statistics, "vectors": vectors}

_LEFT_OUT = {("Reading", "predictions")}
"""One number per sentence and probe, which no page, table or command shows."""

_WHOLE = (np.int8, np.int16, np.int32, np.int64)


def to_plain(value: Any, arrays: Arrays) -> Any:
    """The value as JSON has it; the arrays in it are added to `arrays`. Raises TypeError for what is not listed."""
    if isinstance(value, Enum):
        return {"class": _listed(type(value)), "value": value.value}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value.item() if isinstance(value, np.generic) else value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        name = f"{len(arrays):04d}"
        arrays[name] = np.ascontiguousarray(_small(value))
        return {"array": name, "dtype": value.dtype.name}
    if isinstance(value, list):
        return [to_plain(item, arrays) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [to_plain(item, arrays) for item in value]}
    if isinstance(value, Mapping):
        return {"items": [[to_plain(key, arrays), to_plain(item, arrays)] for key, item in value.items()]}
    if type(value).__name__ == "DataFrame":
        # A column of no rows may have no type.
        columns = [(name, column.to_numpy() if len(column) else np.empty(0)) for name, column in value.items()]
        return {"table": [[name, to_plain(column, arrays)] for name, column in columns]}
    if is_dataclass(value):
        name = _listed(type(value))
        kept = [field.name for field in fields(value) if (name, field.name) not in _LEFT_OUT]
        return {"class": name, "fields": {of: to_plain(getattr(value, of), arrays) for of in kept}}
    raise TypeError(f"{type(value).__name__} is no part of a result")


def from_plain(plain: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """The inverse of `to_plain`; raises KeyError, TypeError or ValueError for what it cannot have given."""
    if isinstance(plain, list):
        return [from_plain(item, arrays) for item in plain]
    if not isinstance(plain, dict):
        return plain
    if "array" in plain:
        return arrays[plain["array"]].astype(plain["dtype"], copy=False)
    if "tuple" in plain:
        return tuple(from_plain(item, arrays) for item in plain["tuple"])
    if "items" in plain:
        return {from_plain(key, arrays): from_plain(item, arrays) for key, item in plain["items"]}
    if "table" in plain:
        return analysis.frames.table({name: from_plain(column, arrays) for name, column in plain["table"]})
    found = _class(plain["class"])
    if "value" in plain:
        return found(plain["value"])
    return found(**{name: from_plain(item, arrays) for name, item in plain["fields"].items()})


def _small(array: NDArray[Any]) -> NDArray[Any]:
    """The same whole numbers in as few bytes as hold them."""
    if array.dtype.kind != "i" or not array.size:
        return array
    low, high = array.min(), array.max()
    return array.astype(next(of for of in _WHOLE if np.iinfo(of).min <= low and high <= np.iinfo(of).max))


def _listed(found: type) -> str:
    name = found.__name__
    if name not in _PLACES or _class(name) is not found:
        raise TypeError(f"{name} is no part of a result")
    return name


def _class(name: str) -> Any:
    """The class of that name, if it is listed."""
    root, *path = _PLACES[name].split(".")
    place: Any = _ROOTS[root]
    for part in path:
        place = getattr(place, part)
    return getattr(place, name)
