from clsviz import words
from clsviz.measuring import Plan

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
