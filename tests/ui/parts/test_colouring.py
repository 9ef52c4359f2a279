import base64
import json
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from streamlit.testing.v1 import AppTest
from support.app import drawn, finish, job_of, settle, texts
from support.hub import Hub
from support.tiny import random_sentences

from clsviz.corpora.hub_files import Reader
from clsviz.figures import colouring
from clsviz.measuring import Job, State
from clsviz.ui.state import server

ODD = "<img src=x onerror=alert(1)>"


def colours(page: AppTest) -> np.ndarray:
    """Of the points, as the browser gets them."""
    packed = drawn(page)[0]["marker"]["color"]
    return np.frombuffer(base64.b64decode(packed["bdata"]), packed["dtype"])


def legend(page: AppTest) -> str:
    return next((element.proto.body for element in page.get("html") if "legend" in element.proto.body), "")


def test_a_table_is_coloured_by_another_of_its_columns(open_page: Callable[..., AppTest], tmp_path: Path) -> None:
    sentences = random_sentences(90, seed=6)
    topics = [(ODD, "two", "three")[at % 3] for at in range(90)]
    rows = [f"{text};{topic};{at}" for at, (text, topic) in enumerate(zip(sentences, topics, strict=True))]
    (tmp_path / "mine.csv").write_text("\n".join(["text;topic;number", *rows]))
    page = open_page(corpus=str(tmp_path / "mine.csv"), colour="column:topic")
    page = finish(page)
    box = page.selectbox(key="colour")
    assert (box.value, box.options[-2:]) == ("column:topic", ["Column “topic”", "Column “number”"])
    assert page.query_params["colour"] == "column:topic"

    found = job_of(page).work.found
    of_sentence = dict(zip(sentences, topics, strict=True))
    names = re.findall(r"</span> ([^<]+) <span[^>]*>(\d+), mean norm ([\d.]+)</span>", legend(page))
    norms = found.measurements.cls_norms[:, -1]
    assert "<img" not in legend(page)
    for name, n, mean in names:
        which = np.array(
            [of_sentence[text] == name.replace("&lt;", "<").replace("&gt;", ">") for text in found.sentences]
        )
        assert (int(n), float(mean)) == (which.sum(), round(float(norms[which].mean()), 4))
    assert sum(int(n) for _, n, _ in names) == len(found.sentences)

    codes = colours(page)
    assert len({(code, of_sentence[text]) for code, text in zip(codes, found.sentences, strict=True)}) == 3

    box.select("column:number").run()
    assert colouring.SCALE[0] in legend(page)
    assert len({*colours(page).tolist()}) > 50
    page = finish(open_page(corpus=str(tmp_path / "mine.csv"), colour="column:gone"))
    assert "mine.csv has no other column “gone” to colour by." in texts(page)
    page = open_page(colour="column: gone")
    assert "In the link: colour is “column: gone”; it must be one of" in texts(page)


def fetched() -> list[Job]:
    """The jobs that fetch columns."""
    return [job for key, job in server.jobs()._analyses.items() if isinstance(key, tuple) and key[0] == "column"]


def test_a_dataset_of_the_hub_is_coloured_once_its_column_is_there(
    hub: Hub, open_page: Callable[..., AppTest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sentences = random_sentences(60, seed=6)
    labels = [at % 3 - 1 for at in range(60)]
    features = {"label": {"names": [ODD, "calm"], "_type": "ClassLabel"}}
    table = pa.table({"text": sentences, "label": labels, "number": range(60)})
    (tmp_path / "own").mkdir()
    said = {"huggingface": json.dumps({"info": {"features": features}})}
    pq.write_table(table.replace_schema_metadata(said), tmp_path / "own" / "train.parquet")
    hub.add("owner/labelled", tmp_path / "own", kind="dataset")
    page = finish(open_page(corpus="owner/labelled", sample_size="60"))
    page.button(key="run").click().run()
    page = settle(page)
    box = page.selectbox(key="colour")
    assert box.options[-2:] == ["Column “label”", "Column “number”"]
    go, read = threading.Event(), Reader.values

    def slowly(self: Reader, *wanted: Any) -> Any:
        go.wait(60)
        return read(self, *wanted)

    monkeypatch.setattr(Reader, "values", slowly)
    box.select("column:label").run()
    assert "Fetching the column “label” from the Hub" in texts(page)
    assert legend(page) == ""
    go.set()
    page = settle(page)
    named = re.findall(r"</span> ([^<]+) <span[^>]*>(\d+), mean norm", legend(page))
    assert dict(named) == {"&lt;img src=x onerror=alert(1)&gt;": "20", "calm": "20", "no value": "20"}
    of_sentence = dict(zip(sentences, labels, strict=True))
    found = job_of(page).work.found
    assert len({(code, of_sentence[text]) for code, text in zip(colours(page), found.sentences, strict=True)}) == 3

    hub.misbehave("*.parquet", "403")
    page = settle(page.selectbox(key="colour").select("column:number").run())
    assert "owner/labelled" in texts(page)
    (failed,) = (job for job in fetched() if job.state is State.FAILED)
    assert str(failed.error) in texts(page)
