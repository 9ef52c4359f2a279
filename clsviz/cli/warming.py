"""A list of experiments to measure before anybody asks for them, as TOML.

[[experiment]]
model = "bert-base-uncased"     settings are called and written as in a link; what is left out has its default
kind = "vectors"                what is measured of each sentence: norms, unless it says vectors
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from clsviz.errors import SettingError
from clsviz.experiment import Experiment
from clsviz.jobs import kind_of_norms
from clsviz.measurements import Kind
from clsviz.sources import catalogue, models


@dataclass(frozen=True)
class Wanted:
    """One experiment of the list, and what is measured of its sentences."""

    experiment: Experiment
    kind: Kind

    @property
    def needs_hub(self) -> bool:
        """Whether its model or its corpus is on the Hugging Face Hub."""
        return bool(models.Name.parse(self.experiment.model).repo) or catalogue.is_on_hub(self.experiment.corpus)


def read_wanted(path: Path) -> list[Wanted]:
    """The experiments that the file lists; raises SettingError where it cannot be read or used."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingError(f"{path} cannot be read: {error.strerror}. Name a file in TOML.") from error
    except ValueError as error:
        raise SettingError(f"{path} is not TOML: {error}.") from error
    tables = content.pop("experiment", [])
    is_list = isinstance(tables, list) and all(isinstance(table, dict) for table in tables)
    if content or not is_list or not tables:
        raise SettingError(f"{path} lists no experiments. Begin each with [[experiment]], and write nothing else.")
    return [_wanted(path, number, table) for number, table in enumerate(tables, 1)]


def _wanted(path: Path, number: int, table: dict[str, object]) -> Wanted:
    settings = {name: str(value) for name, value in table.items()}
    try:
        kind = settings.pop("kind", "")
        if kind and kind not in list(Kind):
            raise SettingError(f"kind is “{kind}”; it must be {' or '.join(Kind)}.")
        experiment = Experiment.from_query(settings)
        return Wanted(experiment, Kind(kind) if kind else kind_of_norms(experiment))
    except SettingError as error:
        raise SettingError(f"Experiment {number} of {path}: {error}") from error
