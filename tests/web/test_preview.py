import io
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pytest
from starlette.testclient import TestClient
from support.hub import Hub

from clsviz import analysis
from clsviz.cli.files import read_wanted
from clsviz.encoder import Encoder
from clsviz.experiment import Experiment
from clsviz.figures.static import Exposures, Lines, Scatter
from clsviz.jobs import SHOWCASE, Encoders, Extraction
from clsviz.progress import Progress
from clsviz.sources import hub, models, uploads
from clsviz.store import Store
from clsviz.store.results import ResultCache
from clsviz.ui.state import server
from clsviz.web.preview import LISTED, PAGES, SEARCH, Previews, examples

SMALL = {"sample_size": "40", "seed": "3"}
"""So small that it is measured in no time, and none of what comes with clsviz."""


@pytest.fixture
def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever loads a model or fetches anything fails."""
    monkeypatch.setattr(
        "clsviz.ui.state.server.soon", lambda action: None
    )  # which loads the model of the first visitor
    for module, name in ((Encoders, "get"), (models, "fetch"), (hub, "open_repository"), (hub, "read_range")):
        monkeypatch.setattr(module, name, None)


@pytest.mark.usefixtures("no_model")
@pytest.mark.parametrize("page", PAGES)
def test_of_what_came_with_clsviz_each_page_has_its_own_picture_or_none(page: str) -> None:
    preview = Previews().of(page, {})
    assert preview.question.endswith("?")
    if page in ("", "try_a_sentence"):
        assert isinstance(preview.picture, Scatter)
        assert len(preview.picture.lengths) == len(preview.picture.norms) == 4993
        r_squared = np.corrcoef(preview.picture.lengths, preview.picture.norms)[0, 1] ** 2
        assert preview.picture.r_squared == pytest.approx(r_squared, rel=1e-5)
    elif page == "where_length_lives":
        assert isinstance(preview.picture, Lines)
        name, lowest, highest = preview.picture.band or ("", np.empty(0), np.empty(0))
        assert name == "random weights"
        assert 1 < lowest[-1] < highest[-1] < 2  # of five models
        vector, norm = preview.picture.values.values()
        assert len(vector) == len(norm) == 7
        assert np.nanmin(vector) < np.nanmin(norm) < preview.picture.level[1]
        assert f"{np.nanmin(vector):.1f} tokens" in preview.answer
        mean = Previews().of(page, {"pooling": "mean"})
        assert isinstance(mean.picture, Lines)
        assert [*mean.picture.values] == ["mean-pooled vector", "its norm"]
        assert mean.picture.band is None  # random weights are read from [CLS] alone
        assert f"{np.nanmin(mean.picture.values['mean-pooled vector']):.1f} tokens" in mean.answer
    elif page == SEARCH:
        assert isinstance(preview.picture, Exposures)
        assert preview.answer == "At most a little: by cosine, the shortest fifth takes 1.3 times its share."
        by_dot = Previews().of(page, {"similarity": "dot", "pooling": "cls"})
        assert by_dot.answer.startswith("Yes: by dot product, ")
        assert by_dot.query == {"similarity": "dot", "pooling": "cls"}
        assert Previews().of(page, {"corpus": "python-docs"}).picture is None
    else:
        assert not isinstance(preview.picture, Scatter)


@pytest.mark.usefixtures("no_model")
def test_what_is_not_measured_has_no_points_and_stays_so(tmp_path: Path) -> None:
    preview = Previews().of("", SMALL | {"model": "untrained:minilm"})
    assert (preview.answer, preview.picture) == ("", None)
    assert "MiniLM-L6" in preview.question
    assert not list((tmp_path / "store").rglob("*.safetensors"))


def test_the_points_are_there_once_measured_and_the_answer_once_computed(minilm_encoder: Encoder) -> None:
    previews, experiment = Previews(), Experiment(sample_size=40, seed=3)
    store = Store(shipped=SHOWCASE)
    encoders = Encoders()
    encoders._loaded[models.find("minilm").fingerprint, experiment.precision] = minilm_encoder
    before = previews.of("", SMALL)
    found = Extraction(experiment, store, encoders).run(Progress())
    measured = previews.of("", SMALL)
    kept = ResultCache(store.results)
    shown = analysis.select(found, experiment.view, cache=kept)
    computed = previews.of("", SMALL)
    assert before.picture is None
    assert measured.picture is not None
    np.testing.assert_array_equal(measured.picture.norms, found.measurements.cls_norms[shown.index, -1])
    np.testing.assert_array_equal(measured.picture.lengths, found.measurements.n_tokens[shown.index])
    assert measured.answer == ""
    assert shown.fit is not None
    assert f"accounts for {shown.fit.r_squared:.1%} of these differences" in computed.answer
    assert len({before.key, measured.key, computed.key}) == 3


def test_the_view_is_that_of_the_link() -> None:
    previews = Previews()
    short, layer = previews.of("", {"length_cutoff": "10"}).picture, previews.of("", {"layer": "2"}).picture
    whole = previews.of("", {}).picture
    assert short is not None
    assert layer is not None
    assert whole is not None
    assert short.lengths.max() == 9
    assert not np.allclose(layer.norms, whole.norms)
    mean = previews.of("", {"pooling": "mean"})
    assert mean.answer
    assert "mean-pooled" in mean.question


@pytest.mark.parametrize(
    "query",
    [
        {"layer": "99"},
        {"pooling": "mean", "seed": "1"},
        {"sample_size": "20001"},
        {"corpus": "/etc/passwd"},
        {"corpus": "no-such-owner/corpus"},
        {"model": "/"},
        {"model": "no-such-owner/model"},
        {"model": "untrained:bert-base-uncased"},
    ],
)
def test_what_a_page_would_only_explain_has_no_points(query: dict[str, str]) -> None:
    preview = Previews().of("", query)
    assert (preview.answer, preview.picture) == ("", None)


@pytest.mark.parametrize(
    "query",
    [
        {"layer": "abc", "nonsense": "1", "sample_size": "-1"},
        {"model": "", "corpus": "x" * 600},
        {"zoom": "1,2,3,4", "text": "secret", "model_fingerprint": "0", "selected": "points:1", "overlays": "none"},
        {"length_cutoff": "9" * 5000},
    ],
)
def test_whatever_a_link_gets_wrong_has_its_default(query: dict[str, str]) -> None:
    preview, default = Previews().of("", query), Previews().of("", {})
    assert preview.key == default.key
    assert preview.answer


def test_a_visitors_own_file_is_not_shown(tmp_path: Path) -> None:
    content = "\n".join(f"This is sentence {'number ' * (n % 9)}{n}." for n in range(30)).encode()
    name = uploads.keep_upload(io.BytesIO(content), "own.txt", tmp_path / "store" / "corpora")
    experiment = Experiment(corpus=name, sample_size=30)
    found = Extraction(experiment, Store(), Encoders()).run(Progress())
    assert len(found.measurements) == 30
    assert Previews().of("", experiment.to_query()).picture is None


def test_a_public_server_shows_what_its_pages_offer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLSVIZ_PUBLIC", "1")
    assert server.limits().is_public
    previews = Previews()
    default = previews.of("", {})
    for query in ({"model": "owner/model"}, {"model": "/etc"}, {"corpus": "/etc/passwd"}, {"corpus": "owner/corpus"}):
        assert previews.of("", query).key == default.key


def test_the_hub_is_not_asked(hub: Hub) -> None:
    for query in (
        {"model": "owner/model"},
        {"corpus": "owner/corpus"},
        {"model": "bert-base-uncased", "corpus": "bookcorpus"},
    ):
        assert Previews().of("", query).picture is None
    assert hub.requests == []


def test_what_came_with_clsviz_is_offered_with_its_answers_and_nothing_that_is_not_stored() -> None:
    offered = examples()
    pages = [urlsplit(example.link).path for example in offered]
    assert pages == ["./", "./", "./where_length_lives", "./length_and_search"]
    asked = [Experiment.from_query(dict(parse_qsl(urlsplit(example.link).query))) for example in offered]
    assert [experiment.model for experiment in asked] == ["minilm", "untrained:minilm", "minilm", "minilm"]
    for page, experiment, example in zip(pages, asked, offered, strict=True):
        preview = Previews().of(page.removeprefix("./"), experiment.to_query())
        assert (example.question, example.answer) == (preview.question, preview.answer)
        assert example.answer
    wanted = [one.experiment for one in read_wanted(LISTED)]
    assert any(experiment.model == "bert-base-uncased" for experiment in wanted)  # which is not stored here


def test_the_picture_of_an_example_is_that_of_its_link(site: TestClient) -> None:
    for example in examples():
        page = site.get(example.link.removeprefix("."))
        picture = example.picture.removeprefix(".")
        assert f'content="http://demo.example{picture.replace("&", "&amp;")}"' in page.text
        assert site.get(picture).headers["Content-Type"] == "image/png"
        assert f'content="{example.alt}"' in page.text


def test_what_the_showcase_lists_is_offered_once_it_is_stored(tmp_path: Path, minilm_encoder: Encoder) -> None:
    listed = tmp_path / "showcase.toml"
    listed.write_text("[[experiment]]\nsample_size = 40\nseed = 3\n", encoding="utf-8")
    before = examples(listed)
    encoders = Encoders()
    experiment = Experiment(sample_size=40, seed=3)
    encoders._loaded[models.find("minilm").fingerprint, experiment.precision] = minilm_encoder
    Extraction(experiment, Store(shipped=SHOWCASE), encoders).run(Progress())
    (new,) = [example for example in examples(listed) if example not in before]
    assert dict(parse_qsl(urlsplit(new.link).query)) == {"sample_size": "40", "seed": "3"}
    assert new.answer == ""  # nobody has asked for it yet
    assert "MiniLM-L6" in new.question


@pytest.mark.parametrize("content", ["", "nonsense = 1", "[[experiment]]\nmodel = 1\nkind = 'all'"])
def test_a_list_that_cannot_be_read_takes_nothing_away(tmp_path: Path, content: str) -> None:
    listed = tmp_path / "showcase.toml"
    without = examples(listed)
    listed.write_text(content, encoding="utf-8")
    assert examples(listed) == without
