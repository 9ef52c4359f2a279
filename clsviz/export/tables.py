"""Tables, on the page and to take along, also as files."""

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from clsviz import analysis, figures, words
from clsviz.analysis import ViewData
from clsviz.analysis.fields import Field
from clsviz.analysis.layers import SentLen
from clsviz.analysis.probes import Origin
from clsviz.analysis.random_weights import RandomWeights
from clsviz.measurements import Means, Measurements
from clsviz.settings import Alteration, Pooling, Unit
from clsviz.statistics.dimensions import Dimensions, NormOf
from clsviz.statistics.erasure import Erasure
from clsviz.statistics.lengths import percentile_at_length
from clsviz.statistics.means import Averaging
from clsviz.statistics.probes import Leg, Profile, Reading, Readout, Travel
from clsviz.statistics.sentlen import CHANCE

if TYPE_CHECKING:
    from clsviz.figures import Density

Table = pd.DataFrame


@dataclass(frozen=True, eq=False)
class Groups:
    """What the n sentences of a sample are coloured by: whether they have a trait, or what a column has beside them.

    title: what that is called where it is read. name: what its column is called in tables. of: bool (n,), or a Field.
    """

    title: str
    name: str
    of: NDArray[np.bool_] | Field

    @property
    def values(self) -> NDArray[Any]:
        """For each sentence, (n,): bool, or float64 or text, NaN or None where there is none."""
        if not isinstance(self.of, Field):
            return self.of
        return self.of.values if self.of.names else self.of.numbers

    def look(self, index: NDArray[np.intp], points: NDArray[np.intp]) -> dict[str, Any]:
        """The colours as `scatter` takes them; index: of the sentences shown. points: which of these are drawn."""
        if not isinstance(self.of, Field):
            return {"groups": self.of[index][points]}
        shown, colouring = self.of.of(index), figures.colouring
        colours = colouring.by_code(shown.codes) if shown.names else colouring.by_number(shown.numbers)
        return {"colours": colours.of(points)}

    def key(self, index: NDArray[np.intp], palette: "figures.Palette") -> "figures.Key":
        """What the colours stand for among the sentences shown, which have this index, intp (n_shown,)."""
        if not isinstance(self.of, Field):
            n = int(self.of[index].sum())
            entries = [(words.selection.YES, n, palette.other), (words.selection.NO, len(index) - n, palette.points)]
            return figures.Key(self.title, [entry for entry in entries if entry[1]])
        shown = self.of.of(index)
        names = [(name, int((shown.codes == code).sum()), colour) for colour, code, name in entries_of(shown)]
        ends = None if shown.names else figures.colouring.ends_of(shown.numbers)
        return figures.Key(self.title, [entry for entry in names if entry[1]], ends)


def entries_of(field: Field) -> list[tuple[str, int, str]]:
    """The colour, the code and the name of each group; where the values are numbers, of those that have none."""
    fields, colouring = analysis.fields, figures.colouring
    nothing = (colouring.OTHERS, fields.NOTHING, words.selection.NO_VALUE)
    if not field.names:
        return [nothing]
    named = [(colouring.NAMED[code], code, name) for code, name in enumerate(field.names)]
    return [*named, (colouring.OTHERS, fields.OTHER, words.selection.OTHER_VALUES), nothing]


def to_csv(table: pd.DataFrame) -> bytes:
    """As CSV in UTF-8."""
    return table.to_csv(index=False).encode()


def to_parquet(table: pd.DataFrame, about: Mapping[str, object]) -> bytes:
    """As Parquet, with `about` as JSON in the metadata of its schema, under the key “clsviz”."""
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    arrow = arrow.replace_schema_metadata({**(arrow.schema.metadata or {}), b"clsviz": json.dumps(about).encode()})
    buffer = io.BytesIO()
    pq.write_table(arrow, buffer)
    return buffer.getvalue()


def table(sentences: Sequence[str], measurements: Measurements, groups: Groups | None = None) -> pd.DataFrame:
    """One row per sentence: sentence, n_tokens, truncated, the norms cls_0 to cls_L, and pooler if there is one.

    Where they were measured, mean_0 to mean_L and max_0 to max_L come after those of [CLS].

    groups: what the sentences are coloured by, in one more column.
    """
    columns: dict[str, object] = {
        "sentence": list(sentences[: len(measurements)]),
        "n_tokens": measurements.n_tokens,
        "truncated": measurements.truncated,
    }
    by_pooling = measurements.norms_by_pooling if isinstance(measurements, Means) else {"cls": measurements.cls_norms}
    for pooling, norms in by_pooling.items():
        columns |= {f"{pooling}_{layer}": norms[:, layer] for layer in range(measurements.n_layers + 1)}
    if measurements.has_pooler:
        columns["pooler"] = measurements.pooler_norms[:, 0]
    if groups:
        columns[groups.name] = groups.values[: len(measurements)]
    return pd.DataFrame(columns)


def averaging(found: Averaging, control: Averaging | None = None) -> pd.DataFrame:
    """One row per trend of the norm of a mean on length: R² and slope, and those of the untrained model if it is given.

    As texts, for the page.
    """
    rows = words.averaging.rows(found)
    table = {"Mean of": [*rows]}
    founds = {"": found} | ({" (untrained)": control} if control else {})
    for suffix, one in founds.items():
        cells = [words.averaging.cell(trend) for trend in words.averaging.rows(one).values()]
        for name, column in zip(words.averaging.COLUMNS, zip(*cells, strict=True), strict=True):
            table[f"{name}{suffix}"] = list(column)
    return pd.DataFrame(table)


def r_squared_by_layer(profile: Profile | None) -> pd.DataFrame:
    """One row per layer of every line: line, layer, r_squared (NaN where undefined), lowest and highest of the folds.

    Without a profile, or where it is not complete, every line still has its rows, so that it keeps its colour.
    """
    rows = [
        (name, layer, *_r_squared(reading))
        for (pooling, readout), name in words.profile.LINES.items()
        for layer, reading in enumerate(profile.line(pooling, readout) if profile else [])
    ]
    return pd.DataFrame(rows, columns=["line", "layer", "r_squared", "lowest", "highest"])


def errors_by_layer(profile: Profile | None, pooling: Pooling) -> pd.DataFrame:
    """One row per layer of a vector and of its norm: line, layer, error, r_squared, lower and upper (its 95% interval).

    All are NaN where they are undefined or not there yet. Without a profile there are no rows.
    """
    vector = "vector" if profile and profile.is_of_one_vector else words.pooled(pooling)
    rows = []
    for name, readout in ((vector, Readout.VECTOR), ("its norm", Readout.NORM)):
        for layer, reading in enumerate(profile.line(pooling, readout) if profile else []):
            is_known = reading is not None and reading.r_squared is not None
            values = (reading.error, reading.r_squared) if reading and is_known else (np.nan, np.nan)
            rows.append((name, layer, *values, *((reading and reading.interval) or (np.nan, np.nan))))
    return pd.DataFrame(rows, columns=["line", "layer", "error", "r_squared", "lower", "upper"])


def learning_curves(profile: Profile, random: RandomWeights | None) -> Table:
    """One row per point: line, n, r_squared, lower and upper (its 95% interval), of every vector of the last layer."""
    curves = {
        name: profile.get(pooling, None, readout)
        for (pooling, readout), name in words.profile.LINES.items()
        if readout is Readout.VECTOR
    }
    if random is not None and random.is_complete:
        curves["random weights"] = random.draws[0][-1]
        curves["random, no positions"] = random.without_positions[-1] if random.without_positions else None
    rows = [
        (name, point.n, point.r_squared, *point.interval)
        for name, reading in curves.items()
        for point in (reading.curve if reading else ())
    ]
    return pd.DataFrame(rows, columns=["line", "n", "r_squared", "lower", "upper"])


def readouts(profile: Profile | None, unit: str) -> pd.DataFrame:
    """One row for each readout of the only vector there is: from, R², lowest and highest fold, and the error in `unit`.

    All are NaN where they are undefined or not there yet, as without a profile.
    """
    rows = []
    for readout, name in words.profile.READOUTS.items():
        reading = profile.get(Pooling.CLS, None, readout) if profile else None
        is_known = reading is not None and reading.r_squared is not None
        rows.append((name, *_r_squared(reading), reading.error if reading and is_known else np.nan))
    return pd.DataFrame(rows, columns=["From", "R²", "Lowest fold", "Highest fold", f"Off by ({unit})"])


def r_squared_by_vector(profile: Profile, poolings: Sequence[Pooling], readout: Readout) -> NDArray[np.float64]:
    """R² of one readout, (n_poolings, n_layers + 1), NaN where it is undefined or not there yet."""
    return np.array([[_r_squared(reading)[0] for reading in profile.line(pooling, readout)] for pooling in poolings])


def erasure(found: Erasure) -> pd.DataFrame:
    """One row per measure and version of the vectors: measure, version, mean, lowest and highest of the folds."""
    rows = [
        (measure, words.probing.VERSIONS[version], *_range(getattr(left, name)))
        for name, measure in words.probing.MEASURES.items()
        for version, left in found.left.items()
    ]
    return pd.DataFrame(rows, columns=["measure", "version", "mean", "lowest", "highest"])


def _range(values: tuple[float, ...]) -> tuple[float, float, float]:
    defined = [value for value in values if np.isfinite(value)]
    return (float(np.mean(defined)), min(defined), max(defined)) if defined else (np.nan, np.nan, np.nan)


def origin(found: Origin) -> pd.DataFrame:
    """One row per layer of natural and of altered sentences; what cannot be measured has one row, without a layer.

    Columns: sentences, layer (Int64), r_squared, lowest_fold, highest_fold, error (NaN where undefined), and problem.
    """
    altered = {str(alteration): readings for alteration, readings in found.altered.items()}
    rows = [
        (name, reading.layer, *_r_squared(reading), reading.error, reading.problem)
        for name, readings in {words.probing.NATURAL: found.natural, **altered}.items()
        for reading in readings
    ]
    undefined = [(name, None, *[np.nan] * 4, problem) for name, problem in found.problems.items()]
    columns = ["sentences", "layer", "r_squared", "lowest_fold", "highest_fold", "error", "problem"]
    return pd.DataFrame([*rows, *undefined], columns=columns).astype({"sentences": str, "layer": "Int64"})


def origin_lines(found: Origin, alteration: Alteration) -> pd.DataFrame:
    """One row per layer of natural sentences and of those altered in one way: as of `r_squared_by_layer`."""
    rows = [(words.probing.NATURAL, reading.layer, *_r_squared(reading)) for reading in found.natural]
    for reading in found.altered.get(alteration, ()):
        value, low, high = _r_squared(reading)
        draws = found.draws(alteration, reading.layer or 0)
        if len(draws) > 1:  # the range of the draws, and not of the folds
            low, high = min(draws), max(draws)
        rows.append((words.probing.ALTERATIONS[alteration].line, reading.layer, value, low, high))
    return pd.DataFrame(rows, columns=["line", "layer", "r_squared", "lowest", "highest"])


def _r_squared(reading: Reading | None) -> tuple[float, float, float]:
    """R², and the lowest and the highest of the folds; NaN where it is undefined."""
    if reading is None or reading.r_squared is None:
        return np.nan, np.nan, np.nan
    return reading.r_squared, min(reading.fold_r_squared), max(reading.fold_r_squared)


def travel(found: Travel) -> pd.DataFrame:
    """One row per layer: layer, then R² and mean absolute error within the corpus, across to the other, and there."""
    columns = [field.name for field in fields(Leg) if "fold" not in field.name]
    return pd.DataFrame([asdict(leg) for leg in found.legs], columns=columns)


def travel_lines(found: Travel | None) -> pd.DataFrame:
    """One row per layer of every line of the errors: line, layer, error (NaN where undefined)."""
    legs = found.legs if found else ()
    guess = found.guess_error_across if found else np.nan
    rows = [
        (name, leg.layer, value)
        for index, name in enumerate(words.probing.TRAVEL_LINES)
        for leg in legs
        for value in [(leg.within_error, leg.across_error, leg.there_error, guess)[index]]
    ]
    return pd.DataFrame(rows, columns=["line", "layer", "error"])


def norm_spread(profile: Profile | None) -> pd.DataFrame:
    """One row per layer: layer, and the mean and sd of the norm of [CLS] after it."""
    readings = profile.line(Pooling.CLS, Readout.NORM) if profile else []
    rows = [(layer, reading.norm_mean, reading.norm_sd) for layer, reading in enumerate(readings) if reading]
    return pd.DataFrame(rows, columns=["layer", "mean", "sd"])


def sentlen(found: SentLen) -> pd.DataFrame:
    """One row each for the whole vector, for its norm alone, and for guessing: mean accuracy and range over draws.

    Bits: that the classes of the first draw's training sentences take by the online code, NaN while that is unknown.
    """
    rows = [
        (
            *(name, float(np.mean(draws)), min(draws), max(draws), len(draws)),
            *(result.n_train, result.n_dev, result.n_test, code and code.bits),
        )
        for name, result, draws, code in (
            ("the whole vector", found.vector, found.vector_draws, found.vector_code),
            ("its norm alone", found.norm, found.norm_draws, found.norm_code),
        )
        if result is not None
    ]
    columns = ["From", "Accuracy", "Lowest", "Highest", "Draws", "Train", "Dev", "Test", "Bits"]
    uniform = found.vector_code and found.vector_code.uniform_bits
    table = pd.DataFrame([*rows, ("guessing", CHANCE, *[None] * 6, uniform)], columns=columns)
    counts = dict.fromkeys(("Draws", "Train", "Dev", "Test"), "Int64")
    return table.astype(counts | {"Lowest": float, "Highest": float, "Bits": float})


def layer_norm(rows: Sequence[NormOf]) -> pd.DataFrame:
    """One row per variant of the vector: the mean and standard deviation of its norm, and their R² on length."""
    return pd.DataFrame(
        [(row.name, row.norm_mean, row.norm_sd, row.r_squared) for row in rows],
        columns=["Norm", "Mean", "SD", "R²"],
    ).astype({"R²": float})


def dimensions(found: Dimensions) -> pd.DataFrame:
    """One row per dimension, the largest share of the squared norm first."""
    shares = {"dimension": found.order, "share_of_squared_norm": found.shares[found.order]}
    if found.variance_shares is not None:
        shares["share_of_its_variance"] = found.variance_shares[found.order]
    return pd.DataFrame(shares)


def selected(
    sentences: Sequence[str], index: NDArray[np.intp], shown: ViewData, unit: Unit, groups: Groups | None = None
) -> pd.DataFrame:
    """One row per sentence selected in a scatter: itself, its length and norm, and its residual if there is a line.

    sentences: those of the sample. index: intp (n,), of the selected ones among those shown. groups: what they are
    coloured by, in one more column.
    """
    lengths, norms = shown.lengths[index], shown.norms[index]
    table = pd.DataFrame(
        {"Sentence": [sentences[i] for i in shown.index[index]], unit.capitalize(): lengths, "Norm": norms}
    )
    if shown.fit:
        table["Residual"] = norms - shown.fit.predict(lengths)
    if groups:
        table[groups.name] = groups.values[shown.index[index]]
    return table


def named(
    sentences: Sequence[str], index: NDArray[np.intp], shown: ViewData, unit: Unit, groups: Groups | None = None
) -> pd.DataFrame:
    """The same with the place of each sentence in the sample, by which a link selects it."""
    table = selected(sentences, index, shown, unit, groups)
    table.insert(0, "Place", shown.index[index])
    return table


def cells(density: "Density") -> pd.DataFrame:
    """One row per cell of a density that is seen and has sentences: its lengths and norms, and how many it has.

    Columns: shortest and longest (int32, inclusive), norm_from and norm_to (float64), sentences (int64).
    """
    columns, bins = density.cells_seen()
    column, at = np.nonzero(density.counts * np.outer(columns, bins))
    shortest = density.lengths[column]
    return pd.DataFrame(
        {
            "shortest": shortest,
            "longest": (shortest + density.step - 1).astype(np.int32),
            "norm_from": density.edges[at],
            "norm_to": density.edges[at + 1],
            "sentences": density.counts[column, at],
        }
    )


def typed(
    sentences: Sequence[str],
    tokens: Sequence[list[str]],
    lengths: NDArray[np.int32],
    norms: NDArray[np.float32],
    unit: Unit,
    shown: ViewData,
) -> pd.DataFrame:
    """One row per sentence of the visitor, set beside the line and the corpus."""
    among = [
        percentile_at_length(int(length), float(norm), shown.lengths, shown.norms)
        for length, norm in zip(lengths, norms, strict=True)
    ]
    on_line = np.full(len(lengths), np.nan)  # where there is no line, or no sentence on either side
    if shown.fit:
        is_inside = (shown.lengths.min() <= lengths) & (lengths <= shown.lengths.max())
        on_line = np.where(is_inside, shown.fit.predict(lengths), np.nan)
    return pd.DataFrame(
        {
            "": np.arange(1, len(sentences) + 1),
            "Sentence": list(sentences),
            unit.capitalize(): lengths,
            "Norm": norms,
            "Norm on the line": on_line,
            "Percentile at this length": [entry[0] if entry else np.nan for entry in among],
            "Tokenized": [words.try_a_sentence.token_list(of_sentence) for of_sentence in tokens],
        }
    )
