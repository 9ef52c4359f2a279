import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from clsviz import analysis, words
from clsviz.analysis import ViewData
from clsviz.experiment import Experiment
from clsviz.jobs import Found
from clsviz.settings import Lengths, Overlay
from clsviz.sources.catalogue import Corpus
from clsviz.sources.models import Weights
from clsviz.sources.sampling import Sample
from clsviz.statistics.line import fit


def found_of(experiment: Experiment) -> Found:
    weights = Weights(experiment.model, "", Path(), "f" * 64)
    return Found(weights, Sample(Corpus(experiment.selection, "A & B", "c" * 64, 400, experiment.corpus), [], ""))


def shown_of(lengths: np.ndarray) -> ViewData:
    norms = (8 + 0.05 * lengths + np.random.default_rng(0).standard_normal(len(lengths))).astype(np.float32)
    has_line = len(set(lengths.tolist())) > 1
    line = fit(lengths, norms, np.arange(len(lengths))) if has_line else None
    problem = "" if has_line else "All sentences have one length."
    return ViewData(
        np.arange(len(lengths)), lengths.astype(np.int32), norms, line, problem, clusters=np.arange(len(lengths))
    )


LENGTHS = np.random.default_rng(1).integers(3, 60, 300)


def test_the_caption_of_a_density_says_what_colours_and_points_are() -> None:
    experiment = Experiment()
    caption = words.citation.caption(experiment, found_of(experiment), shown_of(LENGTHS), [], n_points=5_000)
    assert caption.startswith(
        "Norm of the [CLS] embedding against sentence length in tokens, as a density: the colour of a cell is the "
        "number of sentences of that length and norm, on a logarithmic scale, and 5,000 of them, drawn at random, are "
        "points. "
    )
    assert "one point per sentence" not in caption


def test_a_caption_says_what_is_drawn_and_no_more() -> None:
    experiment = Experiment()
    caption = words.citation.caption(experiment, found_of(experiment), shown_of(LENGTHS), [Overlay.MEDIANS])
    slope = np.polyfit(LENGTHS, shown_of(LENGTHS).norms, 1)[0]
    assert caption.startswith("Norm of the [CLS] embedding against sentence length in tokens, one point per sentence. ")
    assert f"Slope per token {words.number(slope)} " in caption
    assert "Red: the least-squares line with its 95% band; dark bars: median and quartiles" in caption
    assert "curves" not in caption
    assert "shuffled" not in caption
    shuffled = Experiment(lengths=Lengths.SHUFFLED)
    assert "(lengths shuffled as a control)" in words.citation.caption(shuffled, found_of(shuffled), shown_of(LENGTHS))


@pytest.mark.parametrize(("n", "n_different", "has"), [(300, 300, True), (99, 99, False), (300, 99, False)])
def test_a_caption_names_the_curves_only_where_there_are_some(n: int, n_different: int, has: bool) -> None:
    experiment = Experiment()
    shown = replace(shown_of(LENGTHS[:n]), clusters=np.arange(n) % n_different)
    assert (analysis.quantiles(shown) is not None) == has
    caption = words.citation.caption(experiment, found_of(experiment), shown, [Overlay.CURVES, Overlay.MEDIANS])
    assert ("dark curves" in caption) == has
    assert "dark bars" in caption


def test_a_line_without_a_band_has_none_in_its_caption() -> None:
    experiment = Experiment()
    shown = shown_of(np.array([5] * 20 + [9]))  # the last alone decides the line
    assert shown.fit is not None
    assert np.isinf(shown.fit.slope_interval).all()
    caption = words.citation.caption(experiment, found_of(experiment), shown, [])
    assert "Red: the least-squares line. " in caption
    assert "band" not in caption


def test_without_a_line_a_caption_says_why_and_speaks_of_none() -> None:
    experiment = Experiment()
    caption = words.citation.caption(experiment, found_of(experiment), shown_of(np.full(20, 6)), [])
    assert "All sentences have one length. Measured with clsviz" in caption
    assert "least-squares" not in caption


def test_the_entry_is_one_that_bibtex_can_read_and_has_the_command() -> None:
    experiment = Experiment(model="owner/a_model#1", corpus="100%_of{it}")
    entry = words.citation.bibtex(experiment, found_of(experiment))
    assert re.match(r"@software\{clsviz-owner-a_model-1-100-_of-it,\n", entry)
    bare = re.sub(r"\\[&%$#_{}]|\\\w+\{\}", "", entry)
    assert bare.count("{") == bare.count("}")
    assert not re.search(r"[%#&~^]", bare)
    assert "python -m clsviz measure" in entry
    assert "python -m clsviz probe" in words.citation.bibtex(experiment, found_of(experiment), "probe")


@pytest.mark.parametrize("untrained", ["", "untrained:"])
def test_where_files_lie_on_this_machine_is_nobody_elses_business(untrained: str) -> None:
    experiment = Experiment(model=f"{untrained}/home/someone/models/tiny", corpus="/home/someone/secret/notes.txt")
    caption = words.citation.caption(experiment, found_of(experiment), shown_of(LENGTHS))
    entry = words.citation.bibtex(experiment, found_of(experiment))
    for text in (caption, entry):
        assert f"{untrained}tiny" in text
        assert "notes.txt" in text
        assert "home" not in text
        assert "secret" not in text
    hub = Experiment(model="owner/model@abc", corpus="owner/corpus")
    assert words.shareable(hub, found_of(hub))[0] == hub


def test_an_uploaded_file_goes_by_its_own_name_and_its_command_still_works() -> None:
    upload = "upload-0123456789abcdef0123456789abcdef"
    experiment = Experiment(corpus=upload)
    found = found_of(experiment)
    caption = words.citation.caption(experiment, found, shown_of(LENGTHS))
    assert f"Corpus: A & B (400 sentences, one sentence per line), fingerprint {'c' * 16}" in caption
    assert upload not in caption
    entry = words.citation.bibtex(experiment, found)
    assert entry.startswith("@software{clsviz-minilm-a-b-0123,\n")
    assert re.search(rf"--corpus {upload}\b.* \(where {upload} is the file A \\& B, uploaded\)\}},\n", entry)
    assert f"--corpus {upload}" in words.command(experiment, found)
    on_hub = Experiment(corpus="owner/corpus")
    assert "where" not in words.citation.bibtex(on_hub, found_of(on_hub)).rpartition("Made by")[2]


def test_the_version_is_that_of_the_package() -> None:
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    assert f'version = "{words.citation.VERSION}"' in project
