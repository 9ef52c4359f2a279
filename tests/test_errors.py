import inspect

import pytest

from clsviz import errors
from clsviz.errors import ClsvizError, Subject, UnexpectedError, first_line

KINDS = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, ClsvizError)]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_error_knows_its_subject_and_is_in_the_tree(kind: type[ClsvizError]) -> None:
    assert kind.subject in Subject
    assert errors.__doc__ is not None
    line = next(
        line for line in errors.__doc__.splitlines() if kind.__name__ in line.split() or f"── {kind.__name__}" in line
    )
    if kind not in (ClsvizError, errors.CancelledError):
        assert line.split(kind.__name__)[1].split()[0] == kind.subject


def test_our_own_fault_sends_the_user_to_the_log() -> None:
    assert "log" in str(UnexpectedError())


@pytest.mark.parametrize(
    ("error", "line"),
    [(ValueError("  one\ntwo"), "one"), (ValueError(""), "ValueError"), (KeyError(), "KeyError")],
)
def test_the_first_line_of_a_foreign_error(error: Exception, line: str) -> None:
    assert first_line(error) == line
