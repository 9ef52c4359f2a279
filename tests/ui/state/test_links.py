import pytest
from hypothesis import given
from hypothesis import strategies as st

from clsviz.errors import SettingError
from clsviz.experiment import Experiment
from clsviz.settings import DEFAULT_OVERLAYS, Overlay, SimilarityFunction
from clsviz.ui.state import forged
from clsviz.ui.state.links import EXTRAS, MOST_MODELS, overlays_text


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("axes", "", False),
        ("axes", "free", True),
        ("heat", "probe", True),
        ("nearest", "yes", True),
        ("similarity", "dot", SimilarityFunction.DOT),
        ("titles", "headline", "headline"),
        ("searches", f"upload-{32 * '0'}", f"upload-{32 * '0'}"),
        ("origin", "", 0),
        ("origin", "1000", 1000),
        ("sentence", "", 1),
        ("sentence", "12", 12),
        ("word", "999", 999),
        ("models", "", []),
        ("overlays", "", list(DEFAULT_OVERLAYS)),
        ("overlays", "none", []),
        ("overlays", "ranges,medians,ranges", ["ranges", "medians"]),
        ("zoom", "", ()),
        ("zoom", "0,17.5,-7.25,1.5e-06", (0, 17.5, -7.25, 1.5e-6)),
        ("selected", "", ""),
        ("selected", "points:1,2,30;box:1,2,3.5,4", "points:1,2,30;box:1,2,3.5,4"),
        ("selected", "lasso:1,1,2,2.5,3,1", "lasso:1,1,2,2.5,3,1"),
        ("models", "minilm,untrained:minilm,minilm ", ["minilm", "untrained:minilm"]),
    ],
)
def test_what_a_page_has_is_read_from_its_link(name: str, text: str, expected: object) -> None:
    problems: list[SettingError] = []
    assert EXTRAS[name](text, problems.append) == expected
    assert not problems


@pytest.mark.parametrize(
    ("name", "text", "left"),
    [
        ("axes", "Free", False),
        ("nearest", "no", False),
        ("joined", "yes", False),
        ("similarity", "euclid", SimilarityFunction.COSINE),
        ("titles", "a\nb", ""),
        ("searches", "/etc/passwd", ""),
        ("origin", "99", 0),
        ("origin", "20001", 0),
        ("origin", "yes", 0),
        ("origin", "١٠٠٠", 0),
        ("sentence", "0", 1),
        ("sentence", "1000", 1),
        ("word", "١", 1),
        ("word", "-1", 1),
        ("models", "minilm,\n", ["minilm"]),
        ("overlays", "medians,boxes", list(DEFAULT_OVERLAYS)),
        ("zoom", "1,2,3", ()),
        ("zoom", "1,2,3,inf", ()),
        ("zoom", "1,2,3,٤", ()),
        ("selected", "points:", ""),
        ("selected", "box:1,2,3", ""),
        ("selected", "sentences:abcDEF", ""),
        ("selected", "sentences:7.abcdefg;points:3", ""),
        ("selected", "lasso:1,1,2,2", ""),
        ("selected", f"points:{','.join(['1'] * 5000)}", ""),
        ("models", ",".join(f"owner/model-{n}" for n in range(9)), [f"owner/model-{n}" for n in range(MOST_MODELS)]),
    ],
)
def test_what_cannot_be_used_is_named_and_left_out(name: str, text: str, left: object) -> None:
    problems: list[SettingError] = []
    assert EXTRAS[name](text, problems.append) == left
    (problem,) = problems
    assert str(problem).startswith(f"{name.removesuffix('s')}")


def test_no_page_takes_a_name_of_the_experiment() -> None:
    assert not EXTRAS.keys() & vars(Experiment()).keys()


@pytest.mark.parametrize("overlays", [[], [Overlay.RANGES], [Overlay.MEDIANS], [Overlay.RANGES, Overlay.MEDIANS]])
def test_overlays_come_back_as_they_were_written(overlays: list[Overlay]) -> None:
    problems: list[SettingError] = []
    assert EXTRAS["overlays"](overlays_text(overlays), problems.append) == overlays
    assert not problems


ALMOST = st.from_regex(
    r"(points|box|lasso):-?[0-9]{1,9}([,.;e-][0-9]{0,9}){0,9}|[0-9,.e-]{0,12}|column:.*", fullmatch=True
)


@given(name=st.sampled_from(sorted(EXTRAS.keys() & forged._CHECKS.keys())), text=st.text() | ALMOST)
def test_any_text_is_read_as_what_the_page_can_have_or_reported(name: str, text: str) -> None:
    problems: list[SettingError] = []
    assert forged._CHECKS[name](EXTRAS[name](text, problems.append))
    assert all(map(str, problems))
