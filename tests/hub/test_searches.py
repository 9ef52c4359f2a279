import pytest
from hub.client import parquet
from hub.conftest import Hub

from clsviz.errors import SettingError
from clsviz.experiment import Experiment
from clsviz.sources import searches

pytestmark = pytest.mark.slow


def test_halves_of_uncut_texts_of_a_dataset_search_and_titles_are_refused(hub: Hub) -> None:
    texts = [f"Text {row} begins. {'It goes on. ' * 20}It is {row}." for row in range(200)]
    columns = {"title": [f"Title {row}" for row in range(200)], "text": texts}
    hub.add({"data/train-0.parquet": parquet(columns)})
    experiment = Experiment(corpus=hub.name, column="text", sample_size=60)
    made = hub.run(searches.find, experiment, hub.root)
    queries, halves = (some.table["sentence"].to_pylist() for some in (made.queries, made.texts))
    assert (made.task, len(queries)) == ("halves", 60)
    for query, right in zip(queries, made.right, strict=True):
        assert halves[right[0]].endswith(f"It is {query.split()[1]}.")
    with pytest.raises(SettingError, match="Titles"):
        hub.run(searches.find, experiment, hub.root, titles="title")
