from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
from starlette.testclient import TestClient

from clsviz import models
from clsviz.encoder import Encoder
from clsviz.experiment import Experiment
from clsviz.measuring import SHOWCASE as SHIPPED
from clsviz.measuring import Encoders, Extraction, Store, read_wanted
from clsviz.progress import Progress
from clsviz.web.examples import SHOWCASE, examples
from clsviz.web.preview import Previews


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
    wanted = [one.experiment for one in read_wanted(SHOWCASE)]
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
    Extraction(experiment, Store(shipped=SHIPPED), encoders).run(Progress())
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
