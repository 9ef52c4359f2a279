"""Functions in the place of a model; one that is of no use is refused in a sentence."""

import json
import signal
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd
import pytest

import clsviz
from clsviz import cli
from clsviz.errors import ModelError, NoCls, SettingError
from clsviz.sources.sentences import n_words


def embed(texts: list[str]) -> np.ndarray:
    """Which words occur, hashed into 32 columns."""
    rows = np.zeros((len(texts), 32))
    for row, text in enumerate(texts):
        rows[row, [crc32(word.encode()) % 32 for word in text.split()]] = 1
    return rows


@pytest.fixture
def server() -> Iterator[str]:
    """The address of a server that speaks OpenAI's /v1/embeddings."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            vectors = embed(body["input"]).tolist()
            data = [{"index": n, "embedding": vector} for n, vector in enumerate(vectors)]
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps({"object": "list", "data": data}).encode())

        def log_message(self, *_: Any) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1/embeddings"
    server.shutdown()
    server.server_close()


def test_an_endpoint_is_searched_as_its_vectors_are(
    server: str, tmp_path: Path, sentences: list[str]
) -> None:
    def ask(texts: list[str]) -> list[list[float]]:
        body = json.dumps({"model": "m", "input": texts}).encode()
        with urllib.request.urlopen(urllib.request.Request(server, body)) as answer:
            return [one["embedding"] for one in json.load(answer)["data"]]

    titles = [" ".join(text.split()[::2]) for text in sentences]
    corpus = pd.DataFrame({"title": titles, "text": sentences})
    named = clsviz.search_test(corpus=corpus, encode=ask, name="mine", store=tmp_path)
    own = clsviz.search_test(corpus=corpus, encode=embed)
    assert named.fact("recall_at_10") == own.fact("recall_at_10") > 0.3
    assert (named.json()["model"], named.json()["width"]) == ("mine", 32)
    assert list(tmp_path.glob("text-*")), "vectors under a name are stored"

    def fail(texts: list[str]) -> Any:
        assert len(texts) == 1, "only the trial at the start"
        return embed(texts)

    again = clsviz.search_test(corpus=corpus, encode=fail, name="mine", store=tmp_path)
    assert again.fact("recall_at_10") == named.fact("recall_at_10")


FAILURES: dict[str, Callable[[list[str]], Any]] = {
    "fails: ZeroDivisionError": lambda texts: 1 / 0,
    "returns 3 × 4 for 1 texts": lambda texts: np.ones((3, 4)),
    "returns 1 for 1 texts": lambda texts: [1.0],
    "not finite": lambda texts: np.full((len(texts), 3), np.nan),
    "fails: ValueError": lambda texts: ["text"],
    "fails: SystemExit “no key”": lambda texts: sys.exit("no key"),
    "vectors of 1 and of 16 numbers": lambda texts: np.ones((len(texts), len(texts))),
}


@pytest.mark.parametrize("words", FAILURES)
def test_a_function_of_no_use_is_one_sentence_and_stores_nothing(
    words: str, tmp_path: Path, sentences: list[str]
) -> None:
    with pytest.raises(ModelError, match=words):
        clsviz.probe(corpus=sentences, encode=FAILURES[words], name="mine", store=tmp_path)
    assert not list(tmp_path.glob("text-*"))


def test_settings_of_functions_need_one(sentences: list[str], monkeypatch) -> None:
    with pytest.raises(SettingError, match="belong to a function"):
        clsviz.probe(corpus=sentences, name="mine")
    with pytest.raises(SettingError, match="are both given"):
        clsviz.probe("mpnet", sentences, encode=embed)
    with pytest.raises(NoCls, match="is a function, without"):
        clsviz.search_test(corpus=sentences, encode=embed, pooling="mean")
    with pytest.raises(ModelError, match="count_tokens fails: ValueError"):
        clsviz.probe(corpus=sentences, encode=embed, count_tokens=lambda _: float("nan"))
    with pytest.raises(ModelError, match="count_tokens fails: SystemExit"):
        clsviz.probe(corpus=sentences, encode=embed, count_tokens=sys.exit)
    with pytest.raises(KeyboardInterrupt):
        clsviz.probe(corpus=sentences, encode=lambda _: signal.default_int_handler(2, None))
    monkeypatch.setenv("CLSVIZ_PUBLIC", "1")
    with pytest.raises(SettingError, match="runs no functions"):
        clsviz.probe(corpus=sentences, encode=embed)


def test_words_are_counted_in_every_script() -> None:
    assert [n_words(text) for text in ("a big cat", "猫が好き", "a 猫 b", "")] == [3, 4, 3, 0]


def test_the_command_takes_a_function_of_a_module_here(
    sentences: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    function = "def embed(texts): return [[len(t), 1] for t in texts]"
    (tmp_path / "mine_to_try.py").write_text(function)
    (tmp_path / "a.txt").write_text("\n".join(sentences))
    monkeypatch.chdir(tmp_path)
    command = ["probe", "--corpus", "a.txt", "--segmentation", "lines", "--json", "--encode"]
    assert cli.main([*command, "mine_to_try:embed"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["vector_r_squared"] > 0.9
    (tmp_path / "ends.py").write_text("import sys; sys.exit()")
    for name, words in (("mine_to_try:none", "has no attribute"), ("ends:embed", "SystemExit")):
        assert cli.main([*command, name]) == 2
        assert words in capsys.readouterr().err
