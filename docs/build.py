"""Make the pages of this folder that are made: `make docs`.

api.md comes from the docstrings of the public names, notebook.ipynb is run with its outputs kept.
"""

import ast
import dataclasses
import inspect
import os
import re
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

import clsviz

DOCS = Path(__file__).parent


def api() -> str:
    """The page of the public names."""
    intro = [
        "# Python API",
        "",
        *_markdown(inspect.getdoc(clsviz) or ""),
        "This page is made of the docstrings by `make docs`; their examples are run by the tests.",
        "[notebook.ipynb](notebook.ipynb) shows most of it at work.",
        "",
        *(f"- [`{name}`](#{_anchor(name)}): {_summary(getattr(clsviz, name))}" for name in _names()),
    ]
    text = "\n".join([*intro, *(line for name in _names() for line in _section(name))])
    return re.sub(r"\n{3,}", "\n\n", text).rstrip() + "\n"


def _names() -> list[str]:
    """The public names: what one calls before what it returns, and that before the rest."""
    first = [
        "measure",
        "NormResult",
        "probe",
        "ProbeResult",
        "search_test",
        "search_test_vectors",
        "SearchTestResult",
        "similarity",
        "SimilarityResult",
        "compare",
        "Comparison",
        "Encoder",
        "import_vectors",
    ]
    return first + [name for name in clsviz.__all__ if name not in first]


def _anchor(name: str) -> str:
    """Where a heading is found: GitHub numbers those that differ by their case alone."""
    names = [other.lower() for other in _names()]
    number = names[: _names().index(name)].count(name.lower())
    return f"{name.lower()}-{number}" if number else name.lower()


def _section(name: str) -> Iterator[str]:
    what = getattr(clsviz, name)
    yield from ["", f"## {name}", ""]
    if name == "Encoder" or not inspect.isclass(what):
        yield from ["```python", _signature(name, what), "```", ""]
    yield from _markdown(inspect.getdoc(what) or "")
    yield from _fields(what)
    for member, function in _members(what):
        is_property = isinstance(function, property)
        yield from ["", f"### {name}.{member}", ""]
        if not is_property:
            yield from ["```python", _signature(member, function), "```", ""]
        yield from _markdown(inspect.getdoc(function) or "")


def _fields(what: Any) -> Iterator[str]:
    """The fields of a dataclass of which its docstring says nothing, with what is said below them."""
    if not dataclasses.is_dataclass(what):
        return
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(what))).body
    assert isinstance(definition, ast.ClassDef)
    for statement, below in zip(definition.body, [*definition.body[1:], None], strict=True):
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        name = statement.target.id
        if re.search(rf"^(\w+, )*{name}(, \w+)*: ", inspect.getdoc(what) or "", re.MULTILINE):
            continue
        text = ""
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
            text = f": {_plain(str(below.value.value))}"
        yield f"- `{name}` ({_type(statement.annotation)}){text}"


def _members(what: Any) -> Iterator[tuple[str, Any]]:
    """The methods and properties of a class of ours, in the order in which they stand there."""
    if not inspect.isclass(what):
        return
    for name, member in vars(what).items():
        if name.startswith("_"):
            continue
        if isinstance(member, classmethod):
            yield name, member.__func__
        elif isinstance(member, property) or inspect.isfunction(member):
            yield name, member


def _signature(name: str, function: Any) -> str:
    """How it is called, with the types as the source has them; one argument a line where they are many."""
    function = function.__init__ if inspect.isclass(function) else function
    (source,) = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(function)))).body
    assert isinstance(source, ast.FunctionDef)
    types = {argument.arg: argument.annotation for argument in [*source.args.args, *source.args.kwonlyargs]}
    arguments: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        if parameter.kind is parameter.VAR_KEYWORD:
            arguments.append(f"**{parameter.name}")
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in arguments:
            arguments.append("*")
        default = parameter.default  # an enum's value is written as the string that it is
        text = "" if default is parameter.empty else f" = {(str(default) if isinstance(default, str) else default)!r}"
        is_written = parameter.name in types  # or comes from the settings that the function spells out
        kind = _type(types[parameter.name]) if is_written else _written(parameter.annotation)
        arguments.append(f"{parameter.name}: {kind}{text}")
    returns = "" if source.returns is None or name == "Encoder" else f" -> {_type(source.returns)}"
    line = f"{name}({', '.join(arguments)}){returns}"
    if len(line) <= 100:
        return line
    return "\n".join([f"{name}(", *(f"    {argument}," for argument in arguments), f"){returns}"])


def _type(annotation: ast.expr | None) -> str:
    """An annotation without the modules of its names."""
    assert annotation is not None
    return re.sub(r"[a-z_]+\.(?=\w)", "", ast.unparse(annotation)).replace("'", "")


def _written(annotation: Any) -> str:
    """A type as it is written: the name of a class, or a union."""
    return str(getattr(annotation, "__name__", annotation))


def _summary(what: Any) -> str:
    """The first sentence of a docstring."""
    return _plain((inspect.getdoc(what) or "").partition("\n\n")[0].replace("\n", " "))


def _markdown(text: str) -> Iterator[str]:
    """A docstring: its examples fenced, and its lists of names as lists."""
    is_example = False
    for block in text.split("\n\n"):
        is_example = block.lstrip().startswith(">>>")
        if is_example:
            yield from ["```python", *block.splitlines(), "```", ""]
            continue
        for line in block.splitlines():
            named = re.match(r"([a-z]\w*(?:, \w+)*): (?=\S)", line)
            if named and not line.startswith(" "):
                yield f"- {_code(named[1])}: {_plain(line[named.end() :])}"
            else:
                yield _plain(line)
        yield ""


def _code(names: str) -> str:
    return ", ".join(f"`{name}`" for name in names.split(", "))


def _plain(text: str) -> str:
    """Text whose brackets Markdown would take for a link's."""
    return re.sub(r"(?<!`)\[CLS\](?!`)", r"\\[CLS]", text)


def run(path: Path) -> Any:
    """The notebook with fresh outputs, run in a store of its own; raises CellExecutionError where a cell fails.

    What depends on the machine is left out: times, paths, warnings, and which kernel it was.
    """
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        places = filter(None, [str(DOCS.parent), os.environ.get("PYTHONPATH")])
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(places), "CLSVIZ_STORE": folder}
        client = NotebookClient(
            notebook, timeout=300, kernel_name="python3", record_timing=False, shutdown_kernel="immediate"
        )
        client.execute(cwd=folder, env=environment)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = list(_outputs(cell.outputs))
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return notebook


def _outputs(outputs: list[Any]) -> Iterator[Any]:
    """What a cell put out, without its stderr, and with what it printed in one piece however it arrived."""
    printed = [output for output in outputs if output.get("name") == "stdout"]
    if printed:
        printed[0].text = "".join(output.text for output in printed)
    yield from printed[:1]
    yield from (output for output in outputs if output.output_type != "stream")


def main() -> None:
    """Write both pages anew."""
    (DOCS / "api.md").write_text(api(), encoding="utf-8")
    nbformat.write(run(DOCS / "notebook.ipynb"), DOCS / "notebook.ipynb")


if __name__ == "__main__":
    sys.exit(main())
