import base64
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
from streamlit.testing.v1 import AppTest
from support.app import drawn, finish, job_of, texts
from support.tiny import random_sentences

from clsviz.figures import colouring

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
