"""What two versions of clsviz answer to the same questions, compared.

python -m benchmarks.golden answers CHECKOUT FOLDER: ask the version in CHECKOUT, and write its answers into FOLDER.
python -m benchmarks.golden compare FOLDER FOLDER: print what differs; exit status 1 if anything does.

Numbers may differ by 1e-5, relative, as the order of a sum may change; all else is equal. Seconds, versions of the
store's files and folders of this machine are left out.
"""

import argparse
import contextlib
import gzip
import importlib
import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

TOLERANCE = 1e-5

DEFAULTS = [
    ["measure", "--output", "norms.parquet"],
    ["measure", "--layer", "3", "--length-cutoff", "40", "--unit", "words", "--output", "norms.csv"],
    ["measure", "--lengths", "shuffled"],
    ["measure", "--sample-size", "all", "--length-cutoff", "60"],
    ["measure", "--precision", "fast", "--sample-size", "600"],
    ["measure", "--model", "untrained:minilm", "--sample-size", "500", "--seed", "3"],
    ["measure", "--pooling", "pooler", "--unit", "characters"],
    ["probe", "--output", "layers.parquet"],
    ["probe", "--sample-size", "600", "--erase", "--origin", "300"],
    ["probe", "--sample-size", "500", "--model", "untrained:minilm", "--lengths", "shuffled"],
    ["similarity", "--pooling", "mean", "--output", "map.csv"],
    ["similarity", "--sample-size", "500", "--layer", "2"],
    ["compare", "--models", "minilm", "untrained:minilm", "--sample-size", "400", "--output", "models.csv"],
]

MISTAKES = [
    ["measure", "--layer", "9"],
    ["measure", "--pooling", "mean"],
    ["measure", "--sample-size", "0"],
    ["measure", "--corpus", "missing.csv"],
    ["measure", "--corpus", "empty.txt"],
    ["measure", "--corpus", "broken.parquet"],
    ["measure", "--corpus", "table.csv", "--column", "nothing"],
    ["measure", "--model", "no-such-model"],
    ["measure", "--model", "somebody/no-such-model"],
    ["measure", "--query", "?model=minilm&layer=x&nonsense=1", "--sample-size", "200"],
    ["measure", "--rank", "3", "--of", "2"],
    ["probe", "--probe-size", "-1"],
    ["compare", "--models", "minilm"],
    ["import", "missing.npy"],
    ["preview", "broken.parquet"],
]

LINKS = [
    "?model=minilm&corpus=python-docs&layer=3&length_cutoff=40",
    "?sample_size=1000&seed=7&pooling=pooler&unit=words",
    "?lengths=shuffled&precision=fast&probe_size=300",
    "?corpus=someone%2Fdata%40abc&configuration=en&split=test&column=body",
    "?corpus=python-docs&segmentation=none&reading=lines",
    "?sample_size=all&layer=last",
]

FROM_PYTHON = """
import json, sys
import clsviz
from clsviz import Experiment
sentences = [line.rstrip() for line in open("plain.txt", encoding="utf-8")]
norms = clsviz.measure("minilm", sentences, store=sys.argv[1], n=400, progress=False)
layers = clsviz.probe("minilm", sentences, store=sys.argv[1], n=400, progress=False)
search = clsviz.similarity("minilm", sentences, store=sys.argv[1], n=400, progress=False)
both = clsviz.compare(["minilm", "untrained:minilm"], sentences, store=sys.argv[1], n=400, progress=False)
shipped = clsviz.measure("minilm", "python-docs", store=sys.argv[1], progress=False)
answer = {}
for name, result in dict(norms=norms, layers=layers, search=search, both=both, shipped=shipped).items():
    answer[name] = {
        "answer": getattr(result, "answer", None),
        "summary": result.summary(),
        "figure": json.loads(result.plot().to_json()),
        "table": json.loads(result.table().to_json()),
    }
answer["links"] = [
    [str(link), Experiment.from_query(link.removeprefix("?"))[0].to_query()
     if isinstance(Experiment.from_query(link.removeprefix("?")), tuple)
     else Experiment.from_query(link.removeprefix("?")).to_query()]
    for link in json.loads(sys.argv[2])
]
print(json.dumps(answer, default=str))
"""


def write_texts(folder: Path) -> list[str]:
    """Awkward tables and texts; returns their names."""
    sentences = [f"The {word} number {i} is {'very ' * (i % 9)}{word}." for i in range(150) for word in ("cat", "dog")]
    copies = [sentence.upper() for sentence in sentences[:60]] + sentences[:20]
    (folder / "plain.txt").write_text("\n".join(sentences + copies), encoding="utf-8")
    wrapped = "\n\n".join("\n".join(f"{line} goes on and on until here" for line in "abcdef") + "." for _ in range(40))
    (folder / "wrapped.txt").write_text(wrapped, encoding="utf-8")
    german = [f"Größe {i}: Übermäßig „schön“ – {'ja, ' * (i % 7)}nein." for i in range(80)]
    (folder / "latin.txt").write_bytes(
        "\n".join(german).replace("„", '"').replace("“", '"').replace("–", "-").encode("latin-1")
    )
    (folder / "utf16.txt").write_text("\n".join(german), encoding="utf-16")
    frame = pd.DataFrame({"id": range(300), "text": sentences, "kind": ["x", "y"] * 150})
    frame.to_csv(folder / "table.csv", index=False)
    frame.to_csv(folder / "semicolons.csv", index=False, sep=";", quoting=1, encoding="cp1252")
    frame.to_csv(folder / "tabs.tsv", index=False, sep="\t")
    frame.assign(text=[f'{text}\n"and, more" {text}' for text in sentences]).to_csv(folder / "quoted.csv", index=False)
    with gzip.open(folder / "lines.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps({"body": text, "meta": {"n": len(text)}, "long": None}) + "\n" for text in sentences)
    frame.to_parquet(folder / "table.parquet", row_group_size=37)
    (folder / "empty.txt").write_text("", encoding="utf-8")
    (folder / "broken.parquet").write_bytes(b"PAR1 is not enough")
    (folder / "markup.txt").write_text("\n".join(f"<b>{text}</b> $x$ `y` [z](http://a)" for text in sentences), "utf-8")
    vectors = np.random.default_rng(0).normal(size=(300, 8)).astype(np.float32)
    np.save(folder / "vectors.npy", vectors)
    own = pa.table({"body": sentences, "v": list(vectors), "n": [len(text.split()) for text in sentences]})
    pq.write_table(own, folder / "vectors.parquet")
    (folder / "texts.txt").write_text("\n".join(sentences), encoding="utf-8")
    names = "plain.txt wrapped.txt latin.txt utf16.txt table.csv semicolons.csv tabs.tsv quoted.csv lines.jsonl.gz"
    return [*names.split(), "table.parquet", "markup.txt"]


@contextlib.contextmanager
def served_hub(folder: Path) -> Iterator[dict[str, str]]:
    """A stand-in for the Hub with a dataset and a model; the environment that points clients at it."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    stand_in, clients, tiny = (  # at run time, since tests are not type-checked
        importlib.import_module(f"support.{name}") for name in ("hub", "hub_clients", "tiny")
    )
    texts = [f"Sentence {i} of the set is here{' and there' * (i % 11)}." for i in range(3000)]
    with stand_in.serve_hub() as hub:
        hub.add("someone/data", tiny.write_dataset(folder / "data", {"en": {"train": {"text": texts}}}), kind="dataset")
        hub.add("someone/tiny-bert", tiny.write_bert(folder / "tiny-bert"))
        yield clients.environment(hub, folder / "hub-cache")


def write_answers(checkout: Path, folder: Path) -> None:
    """Ask the version in a checkout everything, and write what it answers."""
    folder.mkdir(parents=True)
    here = folder / "files"
    here.mkdir()
    names = write_texts(here)
    common = {**os.environ, "PYTHONPATH": str(checkout), "CLSVIZ_STORE": str(folder / "store"), "COLUMNS": "100"}

    def ask(name: str, arguments: list[str], environment: dict[str, str]) -> None:
        done = subprocess.run(
            arguments, cwd=here, env=common | environment, capture_output=True, text=True, check=False
        )
        said = (done.stdout if "--json" in arguments or "-c" in arguments else "") or done.stdout + done.stderr
        said = said.replace(str(folder), "FOLDER").replace(str(checkout), "CHECKOUT")
        try:
            answer = json.loads(said)
        except ValueError:
            answer = said
        (folder / f"{name}.json").write_text(json.dumps({"status": done.returncode, "answer": answer}, indent=1))
        print(name, done.returncode, flush=True)

    command, offline = [sys.executable, "-m", "clsviz"], {"HF_HUB_OFFLINE": "1"}
    for number, arguments in enumerate(DEFAULTS):
        ask(f"default-{number:02}-{arguments[0]}", [*command, *arguments, "--json"], offline)
    for name in names:
        ask(f"preview-{name}", [*command, "preview", name, "--json"], offline)
        ask(f"file-{name}", [*command, "measure", "--corpus", name, "--sample-size", "200", "--json"], offline)
    ask("file-probe", [*command, "probe", "--corpus", "plain.txt", "--sample-size", "300", "--json"], offline)
    own = ["--text", "body", "--vectors", "v", "--tokens", "n", "--json"]
    ask("import-parquet", [*command, "import", "vectors.parquet", *own], offline)
    ask("import-npy", [*command, "import", "vectors.npy", "--texts", "texts.txt", "--json"], offline)
    imported = json.loads((folder / "import-parquet.json").read_text())["answer"]
    for kind in ("measure", "probe", "similarity"):
        link = ["--model", imported["model"], "--corpus", imported["corpus"], "--json"]
        ask(f"imported-{kind}", [*command, kind, *link], offline)
    for number, arguments in enumerate(MISTAKES):
        ask(f"mistake-{number:02}", [*command, *arguments], offline)
    ask("python", [sys.executable, "-c", FROM_PYTHON, str(folder / "store"), json.dumps(LINKS)], offline)
    for command_name in ("measure", "probe", "similarity", "compare", "import", "preview", "warm", "app"):
        ask(f"help-{command_name}", [*command, command_name, "--help"], offline)
    with served_hub(folder / "hub") as online:
        on_hub = ["--model", "someone/tiny-bert", "--corpus", "someone/data", "--sample-size", "300", "--json"]
        ask("hub-measure", [*command, "measure", *on_hub, "--output", "hub.parquet"], online)
        ask("hub-missing", [*command, "measure", "--corpus", "someone/nothing"], online)
    for table in [*here.glob("*.csv"), *here.glob("*.parquet")]:
        if table.name in ("norms.parquet", "norms.csv", "layers.parquet", "map.csv", "models.csv", "hub.parquet"):
            read = pd.read_csv(table) if table.suffix == ".csv" else pd.read_parquet(table)
            (folder / f"table-{table.name}.json").write_text(json.dumps(json.loads(read.to_json()), indent=1))


LEFT_OUT = {"seconds", "sentences_per_second", "versions", "clsviz_version"}


def differences(first: Any, second: Any, at: str = "") -> Iterator[str]:
    """Where two answers differ by more than the tolerance."""
    if isinstance(first, dict) and isinstance(second, dict):
        for key in [*first, *(key for key in second if key not in first)]:
            if key in LEFT_OUT:
                continue
            if key not in first or key not in second:
                yield f"{at}/{key}: only in the {'second' if key not in first else 'first'}"
            else:
                yield from differences(first[key], second[key], f"{at}/{key}")
    elif isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        for index, pair in enumerate(zip(first, second, strict=True)):
            yield from differences(*pair, f"{at}/{index}")
    elif isinstance(first, (int, float)) and isinstance(second, (int, float)):
        if not math.isclose(first, second, rel_tol=TOLERANCE, abs_tol=1e-9):
            yield f"{at}: {first} / {second}"
    elif first != second:
        yield f"{at}: {str(first)[:300]!r} / {str(second)[:300]!r}"


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["answers", "compare"])
    parser.add_argument("first", type=Path)
    parser.add_argument("second", type=Path)
    of = parser.parse_args()
    if of.what == "answers":
        write_answers(of.first.resolve(), of.second.resolve())
        return 0
    names = sorted({path.name for folder in (of.first, of.second) for path in folder.glob("*.json")})
    n_different = 0
    for name in names:
        texts = [path.read_text() if (path := folder / name).exists() else "null" for folder in (of.first, of.second)]
        found = [*differences(*map(json.loads, texts))]
        n_different += bool(found)
        for line in found[:12]:
            print(f"{name}{line}")
        if len(found) > 12:
            print(f"{name}: {len(found) - 12} more")
    print(f"{len(names)} answers, {n_different} differ")
    return int(n_different > 0)


if __name__ == "__main__":
    sys.exit(main())
