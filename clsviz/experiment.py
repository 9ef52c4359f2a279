"""What the user asks: one frozen value, whose field names are also URL parameters, flags and widget keys."""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any

from clsviz.errors import SettingError
from clsviz.settings import (
    ALL,
    CHOICES,
    NAME_SETTINGS,
    RANGES,
    Lengths,
    NearDuplicates,
    Pooling,
    Precision,
    Reading,
    Segmentation,
    Unit,
    check_name,
    check_number,
    shown,
    written,
)


@dataclass(frozen=True)
class Selection:
    """Which sentences of which corpus; the settings are those of the same names in Experiment."""

    corpus: str
    configuration: str = ""
    split: str = ""
    column: str = ""
    segmentation: Segmentation = Segmentation.AUTO
    reading: Reading = Reading.AUTO


@dataclass(frozen=True)
class View:
    """What is shown of what was measured; the settings are those of the same names in Experiment.

    It only filters and selects, and never touches the model. What depends on it takes it whole, and is cached by it
    whole, so that no setting can be forgotten.
    """

    length_cutoff: int = 80
    layer: int | None = None
    pooling: Pooling = Pooling.CLS
    unit: Unit = Unit.TOKENS
    lengths: Lengths = Lengths.TRUE
    near_duplicates: NearDuplicates = NearDuplicates.GROUPED

    @property
    def of_all_layers(self) -> "View":
        """The same for what looks at every layer, and so does not depend on the one chosen."""
        return replace(self, layer=None)

    @property
    def of_averaging(self) -> "View":
        """The same for what looks at the mean after the last layer, with lengths in tokens."""
        return replace(self, layer=None, pooling=Pooling.MEAN, unit=Unit.TOKENS, lengths=Lengths.TRUE)

    @property
    def of_all_vectors(self) -> "View":
        """The same for what looks at every vector, and so does not depend on the one chosen."""
        return replace(self, layer=None, pooling=Pooling.CLS)


@dataclass(frozen=True)
class Experiment:
    """A question to an encoder. The settings up to probe_size cost model time; the rest are the view, which is instant.

    model: a name from the catalogue, a Hugging Face Hub id with or without a revision after an @, or a folder;
        “untrained:” in front replaces its weights by random ones.
    corpus: a name from the catalogue, a dataset of the Hugging Face Hub with or without a revision, an uploaded file,
        or a local one.
    configuration, split: parts of a Hub dataset; "" means the dataset's default.
    column: the column of a table that holds the text; "" means the likeliest.
    segmentation: whether texts are cut into sentences; auto cuts them where they are long.
    reading: what is one text in a plain text file: a line, or a paragraph whose lines are joined; auto finds it out.
    sample_size: sentences to draw from the corpus, or ALL.
    seed: of the draw.
    precision: exact, or fast with a measured error.
    probe_size: how many sentences, from the start of the sample, have their vectors measured where norms are not
        enough.
    length_cutoff: only sentences with fewer tokens than this are shown and enter the regression.
    layer: the layer after which the norm is taken; 0 is the embedding output, None the last layer.
    pooling: the vector whose norm is taken.
    unit: what lengths are counted in; the length cutoff is always in tokens.
    lengths: the sentences' own, or shuffled among them as a control.
    near_duplicates: whether intervals and probes keep sentences together that are the same or nearly.

    Raises SettingError where a value is out of range.
    """

    model: str = "minilm"
    corpus: str = "python-docs"
    configuration: str = ""
    split: str = ""
    column: str = ""
    segmentation: Segmentation = Segmentation.AUTO
    reading: Reading = Reading.AUTO
    sample_size: int = 5000
    seed: int = 0
    precision: Precision = Precision.EXACT
    probe_size: int = 5000
    length_cutoff: int = 80
    layer: int | None = None
    pooling: Pooling = Pooling.CLS
    unit: Unit = Unit.TOKENS
    lengths: Lengths = Lengths.TRUE
    near_duplicates: NearDuplicates = NearDuplicates.GROUPED

    def __post_init__(self) -> None:
        for name in NAME_SETTINGS:
            check_name(name, getattr(self, name))
        for name in RANGES:
            check_number(name, getattr(self, name))

    @property
    def selection(self) -> Selection:
        """Which sentences are sampled."""
        return Selection(**{field.name: getattr(self, field.name) for field in fields(Selection)})

    @property
    def view(self) -> View:
        """What is shown of what was measured."""
        return View(**{field.name: getattr(self, field.name) for field in fields(View)})

    @property
    def measurement_key(self) -> tuple[str, Selection, int, int, Precision]:
        """What costs model time: equal for two experiments that differ only in their view."""
        return self.model, self.selection, self.sample_size, self.seed, self.precision

    @property
    def for_vectors(self) -> "Experiment":
        """The experiment whose sample has its vectors measured: the start of the sample, in the exact precision."""
        size = min(self.sample_size, self.probe_size)
        return replace(self, sample_size=size, probe_size=size, precision=Precision.EXACT)

    def of_corpus(self, name: str) -> "Experiment":
        """The same question about another corpus, with all choices among its texts left to their defaults."""
        defaults = Selection(name)
        return replace(self, **{field.name: getattr(defaults, field.name) for field in fields(Selection)})

    def to_query(self, defaults: Mapping[str, str] | None = None) -> dict[str, str]:
        """As URL parameters, defaults left out; defaults: those of a page that has others, as URL parameters."""
        texts = {
            field.name: written(field.name, value)
            for field in fields(self)
            if (value := getattr(self, field.name)) is not None
        }
        usual = {field.name: written(field.name, field.default) for field in fields(self)} | {**(defaults or {})}
        return {name: text for name, text in texts.items() if text != usual[name]}

    def to_flags(self, defaults: Mapping[str, str] | None = None) -> dict[str, str]:
        """As flags of the command line, which are called like the URL parameters; defaults as in `to_query`."""
        return {f"--{name.replace('_', '-')}": value for name, value in self.to_query(defaults).items()}

    @classmethod
    def from_query(cls, query: Mapping[str, str], report: Callable[[SettingError], None] | None = None) -> "Experiment":
        """The experiment of URL parameters: `from_query(to_query(e)) == e`.

        Every parameter that is unknown or whose value cannot be used goes to `report` as a SettingError, its default
        stays, and the rest still applies; without `report` the first one is raised.
        """
        settings: dict[str, Any] = {}
        for name, text in query.items():
            try:
                settings[name] = parse_setting(name, text)
            except SettingError as error:
                if report is None:
                    raise
                report(error)
        return cls(**settings)


_DEFAULTS = {field.name: field.default for field in fields(Experiment) if field.default is not MISSING}


def parse_setting(name: str, text: str) -> Any:
    """The value of the setting `name` written as `text`; raises SettingError naming both where it cannot be used."""
    if name not in _DEFAULTS:
        raise SettingError(f"There is no setting “{shown(name)}”. The settings are {', '.join(_DEFAULTS)}.")
    if name in CHOICES:
        try:
            return CHOICES[name](text)
        except ValueError:
            raise SettingError(f"{name} is “{shown(text)}”; it must be {' or '.join(CHOICES[name])}.") from None
    if name in NAME_SETTINGS:
        return check_name(name, text.strip())
    if name == "layer" and text == "last":
        return None
    if name == "sample_size" and text == "all":
        return ALL
    try:
        number = int(text)
    except ValueError:
        raise SettingError(f"{name} is “{shown(text)}”; it must be a whole number.") from None
    return check_number(name, number)
