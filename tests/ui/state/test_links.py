import pytest

from clsviz.errors import SettingError
from clsviz.experiment import Experiment
from clsviz.ui.state.links import EXTRAS, MOST_MODELS


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("axes", "", False),
        ("axes", "free", True),
        ("heat", "probe", True),
        ("nearest", "yes", True),
        ("joined", "yes", True),
        ("sentence", "", 1),
        ("sentence", "12", 12),
        ("word", "999", 999),
        ("models", "", []),
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
        ("sentence", "0", 1),
        ("sentence", "1000", 1),
        ("word", "١", 1),
        ("word", "-1", 1),
        ("models", "minilm,\n", ["minilm"]),
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
