"""Whether searches without labels say what people's judgements say.

python -m benchmarks.search TEXTS SEARCHES: test the built-in model on a table of `id`, `title` and `text`, once with
titles that search for their texts and once with judged searches (a table of `query` and `ids`), and print both.
"""

import argparse
import json
import os
from pathlib import Path

from clsviz.analysis.search_test import SearchTest
from clsviz.api.inputs import Bar, open_store
from clsviz.api.search import run_test
from clsviz.experiment import Experiment
from clsviz.jobs import Encoders
from clsviz.settings import Fix, Pooling, SimilarityFunction
from clsviz.statistics.exposure import Ranking

COSINE, DOT = SimilarityFunction.COSINE, SimilarityFunction.DOT


def rankings(test: SearchTest) -> dict[str, Ranking]:
    """The rows of the table."""
    fixes = {similarity: test.consequences[similarity].fixes for similarity in SimilarityFunction}
    return {
        "mean, cosine": test.ranking(COSINE),
        "mean, dot product": test.ranking(DOT),
        "[CLS], cosine": test.ranking(COSINE, Pooling.CLS),
        "[CLS], dot product": test.ranking(DOT, Pooling.CLS),
        "BM25": test.bm25,
        "mean, cosine × √tokens": fixes[COSINE][Fix.SQRT_TOKENS].ranking,
        "mean, dot, calibrated by length": fixes[DOT][Fix.CALIBRATED].ranking,
    }


def main() -> None:
    """Print a row per way to rank, or all of it as JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.search", description=__doc__)
    parser.add_argument("texts", type=Path)
    parser.add_argument("searches", type=Path)
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    experiment = Experiment(model=options.model, corpus=os.path.abspath(options.texts), pooling=Pooling.MEAN)
    store, encoders = open_store(None), Encoders()
    with Bar() as bar:
        by_titles, judged = (
            rankings(run_test(experiment, store, encoders, bar, titles=titles, judged=path).test)
            for titles, path in (("title", None), ("", options.searches))
        )
    if options.json:
        rows = {
            name: {
                task: {"recall_at_10": found[name].recall_at_10, "exposure": found[name].exposure}
                for task, found in (("titles", by_titles), ("judged", judged))
            }
            for name in judged
        }
        print(json.dumps(rows))
    else:
        print("| | titles: R@10, exposure | questions: R@10, exposure |\n|---|---|---|")
        for name in judged:
            print(f"| {name} | {_cell(by_titles[name])} | {_cell(judged[name])} |")


def _cell(ranking: Ranking) -> str:
    exposure = " ".join("–" if value is None else f"{value:.2f}" for value in ranking.exposure)
    return f"{ranking.recall_at_10:.3f}, {exposure}"


if __name__ == "__main__":
    main()
