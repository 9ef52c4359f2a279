from dataclasses import replace

from clsviz import words
from clsviz.jobs import Plan

PLAN = Plan(
    n_sentences=74_004_228,
    n_missing=74_004_128,
    n_tokens=1_200_000_000,
    rate=100.0,
    is_measured=True,
    gpu_seconds=7_200.0,
    norms_bytes=4_500_000_000,
    vectors_bytes=4_400_000_000_000,
    megabytes=440,
)


def test_a_plan_says_how_long_how_much_and_from_what() -> None:
    assert list(words.plan.lines(PLAN, 8)) == [
        "To download first: about 440 MB.",
        "Sentences: 74,004,228, of which 100 are measured already.",
        "Tokens to read: about 1,200,000,000, estimated from the sentences’ characters.",
        "On this machine: about 8.6 days, at 100 sentences/s (as measured here before).",
        "On 8 machines like it, each with an equal share: about 25.7 h.",
        "On a GPU: about 2.0 h, assuming that it sustains 30 TFLOP/s in float32; not measured.",
        "Kept: about 4.5 GB of norms. Vectors of all would take 4.4 TB.",
    ]


def test_a_line_says_how_much_there_is_to_read_and_to_keep() -> None:
    assert words.plan.line(PLAN) == (
        "Downloads about 440 MB first. 74,004,228 sentences, about 1.2 billion tokens; keeps 4.5 GB."
    )
    judged = replace(PLAN, is_counted=False, megabytes=0, n_tokens=5_812)
    assert words.plan.line(judged, of_vectors=True) == ("About 74 million sentences, 5,800 tokens; keeps 4.4 TB.")


def test_what_was_not_counted_is_said_to_be_judged() -> None:
    judged = replace(PLAN, is_counted=False, n_missing=PLAN.n_sentences, megabytes=0)
    assert next(words.plan.lines(judged, 1)) == "Sentences: about 74,004,228, judged by the size of the files."


def test_long_times_are_in_days() -> None:
    assert words.duration(47 * 3600) == "47.0 h"
    assert words.duration(100 * 24 * 3600) == "100.0 days"
