"""Keyword arguments as an Experiment."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypedDict

from clsviz import models
from clsviz.api.sentences import Corpus, corpus_name
from clsviz.errors import SettingError
from clsviz.experiment import Experiment, parse_setting
from clsviz.measuring import Store

DEFAULT_CORPUS, DEFAULT_N = Experiment.corpus, Experiment.sample_size


class ViewSettings(TypedDict, total=False):
    """What selects among the measured sentences and norms, and never runs the model: fields of Experiment."""

    length_cutoff: int
    layer: int | str | None
    pooling: str
    unit: str
    lengths: str


class Settings(ViewSettings, total=False):
    """The fields of Experiment that have no argument of their own."""

    configuration: str
    split: str
    column: str
    segmentation: str
    reading: str
    precision: str
    probe_size: int


def question(
    model: str | Experiment, corpus: Corpus, n: int, seed: int, store: Store, settings: Mapping[str, Any]
) -> Experiment:
    """The experiment that these arguments describe; raises SettingError or CorpusError where one is unusable.

    An Experiment in the place of the model is taken as it is, and all other arguments must have their defaults.
    """
    if isinstance(model, Experiment):
        others = dict(settings)
        others |= {"corpus": corpus} if not isinstance(corpus, str) or corpus != DEFAULT_CORPUS else {}
        others |= {"n": n} if n != DEFAULT_N else {}
        others |= {"seed": seed} if seed != 0 else {}
        if others:
            raise SettingError(
                f"{', '.join(others)} cannot be given beside an Experiment, which has its own: use dataclasses.replace."
            )
        return models.as_counted(model)
    unknown = settings.keys() - Settings.__optional_keys__
    if unknown:
        raise SettingError(f"There is no setting “{min(unknown)}”. The settings are {', '.join(_names(Settings))}.")
    experiment = replace(Experiment(), **_parsed({"model": model, "sample_size": n, "seed": seed, **settings}))
    return models.as_counted(replace(experiment, **_parsed({"corpus": corpus_name(corpus, store)})))


def with_view(experiment: Experiment, view: Mapping[str, Any]) -> Experiment:
    """The experiment with another view; raises SettingError where a setting is not one of the view or unusable."""
    unknown = view.keys() - ViewSettings.__optional_keys__
    if unknown:
        raise SettingError(
            f"“{min(unknown)}” is not a setting of the view. Those are {', '.join(_names(ViewSettings))}."
        )
    return models.as_counted(replace(experiment, **_parsed(view)))


def _names(settings: Any) -> list[str]:
    return sorted(settings.__optional_keys__)


def _parsed(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings as Experiment takes them, checked as those of a link or a flag are."""
    return {
        name: None if name == "layer" and value is None else parse_setting(name, str(value))
        for name, value in settings.items()
    }
