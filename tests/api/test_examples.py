"""The examples in the docstrings of the public names are run."""

import doctest
import inspect
from pathlib import Path

import pytest

import clsviz


@pytest.fixture(autouse=True)
def _in_a_store_of_the_tests(api_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLSVIZ_STORE", str(api_store))


def test_the_examples_of_the_package_are_true() -> None:
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    (examples,) = doctest.DocTestFinder(recurse=False).find(clsviz, "clsviz")
    runner.run(examples)
    assert (runner.failures, runner.tries > 5) == (0, True)
    for name in clsviz.__all__:  # each is in one example at least
        assert f"clsviz.{name}" in examples.docstring or inspect.getdoc(getattr(clsviz, name)).count(">>>")  # type: ignore[union-attr]


@pytest.mark.parametrize("name", [name for name in clsviz.__all__ if ">>>" in (getattr(clsviz, name).__doc__ or "")])
def test_the_examples_of_a_public_name_are_true(name: str) -> None:
    examples = doctest.DocTestFinder(exclude_empty=True).find(getattr(clsviz, name), name)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for example in examples:
        runner.run(example)
    assert runner.failures == 0
    assert runner.tries, "it has an example"
