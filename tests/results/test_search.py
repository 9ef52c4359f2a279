import json
import shlex
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import clsviz
from clsviz import cli
from clsviz.analyses.search import SearchNumbers
from clsviz.figures import quintiles
from clsviz.results.result import Result
from clsviz.results.search import advice_of, fix_table, fix_title, misled, misled_title, verdict_of
from clsviz.statistics.exposure import QUINTILES, Ranking
from clsviz.statistics.fixes import Effect
from clsviz.statistics.ranking import Qrels

NONE = np.empty(0)
CHANCE = Qrels.of([np.array([place]) for place in range(100)], 100)
FAIR = (1.0, "even", False)
OVER_EXPOSED, UNDER_EXPOSED = (3.4, "over_exposed", True), (0.204, "under_exposed", True)
SOMEWHAT, UNCLEAR = (1.3, "uneven", False), (1.0, "undecided", False)
OPEN = (1.2, "open", False)


def ranking(recall: float, *quintiles: tuple) -> Ranking:
    """Recall, and fifths of which the last ones are fair."""
    rows = [*quintiles, *[FAIR] * 5][:5]
    table = pd.DataFrame(rows, QUINTILES, columns=["exposure", "state", "is_beyond_words"])
    ends = recall - 0.1, recall + 0.1
    return Ranking(NONE, np.array([recall]), NONE, ends, table)


def answered(similarity: str, own: Ranking, *fixes: Any) -> SearchNumbers:
    return SearchNumbers(None, None, None, "", similarity, CHANCE, own, own, own, *fixes)


UNCLEARLY = (3.4, "over_exposed", False)
SHARE = "the shortest fifth takes {} times its share"
VERDICTS = {
    (0.19, OVER_EXPOSED): "Can’t tell: the search finds the right text hardly more often than "
    "chance.",
    (0.5, OVER_EXPOSED, UNCLEAR): f"Yes: by cosine, {SHARE.format(3.4)}.",
    (0.5, (160.0, "over_exposed", True)): f"Yes: by cosine, {SHARE.format(160)}.",
    (0.5, *[FAIR] * 4, UNDER_EXPOSED): "Yes: by cosine, the longest fifth takes only 0.2 times "
    "its share.",
    (0.5, UNCLEARLY): f"Yes, but not clearly more than word matching: {SHARE.format(3.4)}.",
    (0.5, SOMEWHAT, UNCLEAR): f"Somewhat: by cosine, {SHARE.format(1.3)}.",
    (0.5, OPEN, UNCLEAR): "Can’t tell yet: too few texts of the second-shortest fifth, or "
    "searches for them.",
    (0.5, OPEN): "No sign of it: by cosine, no fifth’s share of the places stands out from chance.",
    (0.5,): "Hardly: by cosine, texts of every length are found about as often as they are right.",
}


@pytest.mark.parametrize("numbers", VERDICTS)
def test_the_first_case_that_holds_is_the_verdict(numbers: tuple) -> None:
    own = ranking(*numbers)
    verdict = verdict_of(answered("cosine", own, {}, None))
    assert verdict == VERDICTS[numbers]
    assert len(verdict.split()) <= 20


def effect(fix: str, after: float, least: float, *, makes_fair: bool = False) -> Effect:
    most = 2 * (after - 0.5) - least
    return Effect(fix, 0.5, after, (least, most), is_harmful=False, makes_fair=makes_fair)


GAIN = effect("centred", 0.6, 0.05)
FALL = effect("centred", 0.45, -0.1, makes_fair=True)
STILL = "the shortest fifth still takes its share."
ADVICE = {
    (FAIR, GAIN): "recall rises from 50% to 60%.",
    (
        OVER_EXPOSED,
        FALL,
    ): "then the shortest fifth takes its share, and recall falls from 50% to 45%.",
    (OVER_EXPOSED, GAIN): f"recall rises from 50% to 60%, but {STILL}",
}


@pytest.mark.parametrize("case", ADVICE)
def test_the_advice_answers_the_question_of_the_page(case: tuple) -> None:
    own, advice = ranking(0.5, case[0]), case[1]
    answer = answered("dot", own, {"centred": (ranking(0.6), advice)}, advice)
    texts = "Subtract the mean vector of your texts"
    assert advice_of(answer, verdict_of(answer)) == f"{texts}: {ADVICE[case]}"


@pytest.fixture(scope="module")
def frame(sentences: list[str]) -> pd.DataFrame:
    """240 texts, each with a title of four of its words."""
    texts = [text for text in sentences if len(text.split()) > 5][:240]
    titles = [f"{text.split()[-1]} {' '.join(text.split()[:3])}" for text in texts]
    return pd.DataFrame({"title": titles, "text": texts})


@pytest.fixture(scope="module")
def options(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return {"model": str(tiny_model), "store": tmp_path_factory.mktemp("store")}


@pytest.fixture(scope="module")
def dot(frame: pd.DataFrame, options: dict[str, Any]) -> Result:
    return clsviz.search_test(
        corpus=frame, titles="title", column="text", similarity="dot", length_power=-0.5, **options
    )


def test_a_row_a_search_says_what_it_found(dot: Result, frame: pd.DataFrame, options) -> None:
    encoder_texts = clsviz.measure(corpus=list(frame["text"]), pooling="mean", **options).table
    lengths = dict(zip(frame["text"], encoder_texts["n_tokens"], strict=True))
    table = dot.table
    assert list(table["query"]) == list(frame["title"])
    assert list(table["right"]) == list(frame["text"])
    assert list(table["right_tokens"]) == [lengths[text] for text in table["right"]]
    assert ((table["right_rank"] <= 10) == (table["recall"] == 1)).all()
    assert ((table["first"] == table["right"]) == (table["right_rank"] == 1)).all()
    assert dot.fact("recall_at_10") == pytest.approx(table["recall"].mean())


def test_the_searches_that_length_misled_most_come_first(dot: Result) -> None:
    rows = misled(dot)
    ratios = np.abs(np.log(rows["mean_tokens"] / rows["right_tokens"]))
    missed = dot.table[dot.table["recall"] == 0]
    assert 0 < len(rows) <= 10
    assert ratios.is_monotonic_decreasing
    assert ratios.iloc[0] == np.abs(np.log(missed["mean_tokens"] / missed["right_tokens"])).max()
    ratio = f"{np.exp(ratios.iloc[0]):.2g} times shorter"
    assert f"on average {ratio} than" in misled_title(rows)


def test_a_search_by_chance_has_the_fix_that_helps_in_advice_title_and_table(
    frame: pd.DataFrame, options
) -> None:
    texts = {"corpus": frame, "titles": "title", "column": "text"}
    result = clsviz.search_test(**texts, similarity="dot", pooling="cls", **options)
    assert result.verdict.startswith("Can’t tell: the search finds the right text hardly more")
    assert result.advice.startswith("Normalise your vectors: recall rises from ")
    assert fix_title(result) == "4 fixes tried, one advised: normalise your vectors"
    change = fix_table(result).set_index("Way")["Change"]["Normalise your vectors"]
    gain = result.details["fixes"]["normalized"]["difference"]
    assert change.startswith(f"{100 * gain:.2g} points (")


def test_an_exposure_that_is_undefined_is_no_number(dot: Result) -> None:
    exposure = [None, *dot.details["exposure"][1:]]
    table = fix_table(replace(dot, details={**dot.details, "exposure": exposure}))
    assert table["Shortest fifth"][0] == "–"
    assert table["Longest fifth"][0] != "–"


def test_own_vectors_have_settings_that_they_heed(frame, tmp_path: Path, capsys) -> None:
    own = {name: tmp_path / f"{name}.parquet" for name in ("vectors", "query_vectors")}
    vectors = list(np.random.RandomState(0).randn(240, 8))
    frame.assign(vector=vectors).to_parquet(own["vectors"])
    queries = frame.assign(vector=vectors[::-1], query=frame["title"], ids=range(240))
    queries.to_parquet(own["query_vectors"])
    result = clsviz.search_test(**own, sample_size=200, seed=3, similarity="dot")
    assert cli.main([*shlex.split(result.command)[1:], "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert {**again, "seconds": 0} == {**result.json(), "seconds": 0}
    assert again["n_texts"] == 200


def test_json_holds_every_ranking_and_fix(dot: Result, frame: pd.DataFrame, options) -> None:
    answer = json.loads(json.dumps(dot.json(), allow_nan=False))
    fixes, cosine = answer["fixes"], answer["other_similarity"]
    assert set(fixes) == {"normalized", "centred", "calibrated", "tokens^p"}
    assert fixes["normalized"]["exposure"] == cosine["exposure"]
    difference = cosine["recall_at_10"] - answer["recall_at_10"]
    assert fixes["normalized"]["difference"] == pytest.approx(difference)
    assert (answer["n_used"], answer["task"], len(answer["fifths"])) == (240, "titles", 5)
    settings = {"titles": "title", "column": "text", "similarity": "dot", "pooling": "cls"}
    other = clsviz.search_test(corpus=frame, **settings, **options).json()
    assert other["fixes"]["mean_pooled"]["recall_at_10"] == answer["recall_at_10"]


def test_a_right_text_of_another_length_is_ranked_among_the_others(
    dot: Result, frame: pd.DataFrame, options: dict[str, Any]
) -> None:
    lengthened = dot.answered.lengthened
    rows = dot.table[(dot.table["right_tokens"] >= 10) & (2 * dot.table["right_tokens"] <= 62)]
    encoder = clsviz.Encoder(options["model"])
    queries, texts = (encoder.encode(list(rows[name]), "mean") for name in ("query", "right"))
    scores = queries @ encoder.encode(list(frame["text"]), "mean").T
    twice = encoder.encode([f"{text} {text}" for text in rows["right"]], "mean")
    after = np.einsum("ij,ij->i", queries, twice)
    gains = after - np.einsum("ij,ij->i", queries, texts)
    assert sorted(lengthened.gains[1, 1]) == pytest.approx(sorted(gains), abs=1e-4)
    scores[np.arange(len(rows)), rows.index] = -np.inf
    ranks = 1 + (scores > after[:, None]).sum(axis=1)
    assert sorted(lengthened.ranks[1, 2]) == sorted(ranks)
    lost = ranks.mean() - rows["right_rank"].mean()
    assert dot.fact("places_lost_repeated") == pytest.approx(lost, abs=0.5)
    assert list(quintiles.lengthened(dot).data[-1].y)[1] == dot.fact("places_lost_repeated")


def test_texts_that_are_cut_are_told_and_may_exceed_a_limit(
    frame: pd.DataFrame, options: dict[str, Any]
) -> None:
    texts = frame.assign(text=frame["text"] + " cat" * 30)
    settings = {"corpus": texts, "titles": "title", "column": "text", **options}
    result = clsviz.search_test(**settings, max_truncated=0.1)
    n_tokens = np.array([len(text.split()) for text in texts["text"]])
    read = n_tokens[n_tokens <= 62]  # 64 tokens, special ones included
    unread = np.maximum(n_tokens - read.max(), 0).sum() / n_tokens.sum()
    assert result.fact("truncated_share") == np.mean(n_tokens > 62) > 0.1
    assert result.fact("unread_tokens_share") == pytest.approx(unread)
    assert (result.details["exceeded"], result.details["undecided"]) == (["truncated texts"], [])
    assert "The model reads over 10% of the texts in part." in result.caveats


def test_what_was_ranked_is_not_measured_again(frame, options, tmp_path: Path) -> None:
    settings = {**options, "corpus": frame, "column": "text", "store": tmp_path}
    first = clsviz.search_test(**settings)
    for folder in tmp_path.glob("last-*"):
        shutil.rmtree(folder)
    again = clsviz.search_test(**settings)
    assert not list(tmp_path.glob("last-*"))
    assert {**again.json(), "seconds": first.about["seconds"]} == first.json()


def test_the_default_is_answered_from_what_comes_with_the_program(tmp_path: Path) -> None:
    cosine = clsviz.search_test(store=tmp_path)
    dot = clsviz.search_test(pooling="mean", similarity="dot", store=tmp_path)
    assert list(tmp_path.rglob("*")) == []
    assert cosine.fact("recall_at_10") == pytest.approx(0.643, abs=0.001)
    assert dot.verdict == "Yes: by dot product, the shortest fifth takes 3.8 times its share."
    share = "the shortest fifth takes 1.3 times its share"
    assert dot.advice == f"Normalise your vectors: then {share}, and recall rises from 37% to 64%."


@pytest.fixture
def run(frame: pd.DataFrame, options, tmp_path: Path, capsys):
    """Runs search-test on the texts in a file; returns its status, output and errors."""
    path = tmp_path / "texts.csv"
    frame.to_csv(path, index=False)
    settings = {**options, "corpus": path, "column": "text"}
    usual = [word for name, value in settings.items() for word in (f"--{name}", str(value))]

    def command(*words: str) -> tuple[int, str, str]:
        return cli.main(["search-test", *usual, *words]), *capsys.readouterr()

    return command


def test_status_1_means_that_an_exposure_is_surely_beyond_the_limit(run) -> None:
    intervals = json.loads(run("--json")[1])["exposure_interval"]
    farthest = max(max(high, 1 / low) for low, high in intervals)
    surest = max(max(low, 1 / high) for low, high in intervals)
    assert surest > 1
    for limit, expected, caveat in (
        (min(1000, 1.01 * farthest), 0, ""),
        (max(1, 0.99 * surest), 1, "Exposure is outside"),
        (1.01 * surest, 0, "Too few texts or searches to tell"),
    ):
        status, output, _ = run("--max-exposure", f"{limit:.4f}")
        assert status == expected
        assert caveat in output
