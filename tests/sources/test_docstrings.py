from pathlib import Path

import pytest

from clsviz.sources import docstrings


def test_docstrings_of_modules_classes_and_functions_wherever_they_are_defined() -> None:
    source = '''
"""Module."""
x = "no docstring"
class A:
    """Class."""
    def f(self):
        """Method."""
        def g():
            """Inner function."""
if x:
    async def h():
        """Under a condition."""
try:
    pass
except ValueError:
    def i():
        """In a handler."""
else:
    class B:
        """In an else."""
'''
    assert list(docstrings.docstrings(source.encode())) == [
        "Module.",
        "Class.",
        "Method.",
        "Inner function.",
        "Under a condition.",
        "In a handler.",
        "In an else.",
    ]


@pytest.mark.parametrize("source", [b"def (", b"\0", b"\xff\xfe\xff", b"x = 'unclosed"])
def test_what_is_not_python_has_none(source: bytes) -> None:
    assert list(docstrings.docstrings(source)) == []


def test_nothing_is_executed(tmp_path: Path) -> None:
    source = f'"""A module."""\nopen({str(tmp_path / "executed")!r}, "w")\n'
    assert list(docstrings.docstrings(source.encode())) == ["A module."]
    assert not (tmp_path / "executed").exists()


def test_a_docstring_is_freed_of_all_that_is_not_prose() -> None:
    docstring = """Return the ``size`` of `value`, see :func:`~os.stat`. It is *never* negative.

    This indented paragraph is code or a quotation.

Parameters
----------
value : object
    The value whose size is returned.

>>> size(3)
28

.. note:: This is a directive.

- An item of a list.
1. Another item of a list.

===  ===
a    b
===  ===

:param value: The value that is measured.
"""
    assert docstrings.sentences(docstring) == [
        "Return the size of value, see os.stat.",
        "It is never negative.",
    ]


def test_sentences_are_split_by_their_meaning_and_not_at_every_dot() -> None:
    docstring = (
        "Use e.g. the full name of it, i.e. version 2.0 of the name.\nThe second sentence goes on\nover two lines."
    )
    assert docstrings.sentences(docstring) == [
        "Use e.g. the full name of it, i.e. version 2.0 of the name.",
        "The second sentence goes on over two lines.",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Return the length of the list.",
        "What does it mean?",
        "(If a file descriptor is given, it is closed.)",
        'The name is "length".',
    ],
)
def test_sentences(text: str) -> None:
    assert docstrings.is_sentence(text)


@pytest.mark.parametrize(
    "text",
    [
        "no capital at the start.",
        "No full stop at the end",
        "Word.",
        "Return x = f(y).",
        "See https://example.org for more.",
        "Takes a dict {key: value} of things.",
        "Unbalanced (parenthesis here.",
        'Half a quotation “of " something.',
        "And so on...",
        "Mostly 1234567890 1234567890 numbers.",
        "A \ud800 surrogate is no character.",
        "Ignored because __name__ is code.",
    ],
)
def test_what_is_no_sentence(text: str) -> None:
    assert not docstrings.is_sentence(text)


def test_files_are_found_in_order_and_without_tests(tmp_path: Path) -> None:
    names = ["b.py", "a.py", "test_a.py", "c.txt", "sub/d.py", "sub/tests/e.py", "test/f.py", "site-packages/g.py"]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = [str(Path(path).relative_to(tmp_path)) for path in docstrings.python_files(tmp_path)]
    assert found == ["a.py", "b.py", "sub/d.py"]
