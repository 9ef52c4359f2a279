"""What users rely on by name: flags, parameters of links, public names, keys of JSON, variables of the environment.

python tests/contract.py > tests/contract.txt, in the top folder: writes what tests/test_contract.py compares with.
"""

import argparse
import contextlib
import inspect
import io
import json
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import fields
from enum import Enum
from pathlib import Path
from typing import Any

from support.tiny import random_sentences, write_bert

import clsviz
from clsviz import settings
from clsviz.cli import arguments
from clsviz.cli.main import main

COMMANDS = {
    "measure": "--model={model}",
    "probe": "--model={model} --erase --random-weights --origin 120 --travel-to {other}",
    "similarity": "--model={model}",
    "search-test": "--similarity=dot",  # of what comes with clsviz: these sentences cannot be searched
    "compare": "--models {model} untrained:{model}",
    "measure --dry-run": "--model={model}",
    "measure --rank": "0 --of 1 --model={model}",
    "preview": "{corpus}",
}


def contract() -> Iterator[str]:
    """The lines of it."""
    yield from _flags()
    yield f"links: {' '.join(field.name for field in fields(clsviz.Experiment))}"
    yield f"links: {settings.TEXT_PARAMETER} {' '.join(sorted(settings.PAGE_PARAMETERS))}"
    yield f"links: {settings.MODEL_PARAMETER} {settings.CORPUS_PARAMETER}"
    for name in clsviz.__all__:
        yield from _public(name, getattr(clsviz, name))
    code = "\n".join(path.read_text(encoding="utf-8") for path in Path(clsviz.__file__).parent.rglob("*.py"))
    yield f"environment: {' '.join(sorted(set(re.findall(r'CLSVIZ_[A-Z_]*[A-Z]', code))))}"
    yield from _json()


def _flags() -> Iterator[str]:
    parsers: list[argparse.ArgumentParser] = []
    with contextlib.ExitStack() as stack:
        whole = argparse.ArgumentParser.parse_known_args
        argparse.ArgumentParser.parse_known_args = lambda self, *a, **k: (parsers.append(self), whole(self, *a, **k))[1]  # type: ignore[assignment, misc]
        stack.callback(setattr, argparse.ArgumentParser, "parse_known_args", whole)
        arguments.parse(["app"])
    for action in parsers[0]._subparsers._group_actions:  # type: ignore[union-attr]
        for command, parser in action.choices.items():  # type: ignore[union-attr]
            for flag in parser._actions:
                yield f"flag: {command} {' '.join(flag.option_strings) or flag.dest} {flag.nargs or ''}".rstrip()


def _public(name: str, value: Any) -> Iterator[str]:
    is_choice = inspect.isclass(value) and issubclass(value, Enum)  # of which some Pythons tell their own parameters
    with contextlib.suppress(ValueError, TypeError):
        parameters = inspect.signature(value).parameters.values()
        written = [p.name if p.default is p.empty else f"{p.name}={p.default!r}" for p in parameters]
        yield from [] if is_choice else [f"public: {name}({', '.join(written)})"]
    if inspect.isfunction(value):
        return
    of_python = {*dir(Exception), *dir(str)}
    yield from (f"public: {name}.{member}" for member in dir(value) if member[0] != "_" and member not in of_python)


def _keys(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield f"{path}.{key}"
            yield from _keys(item, f"{path}.{key}")
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        yield from _keys(value[0], f"{path}[]")


def _json() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        paths = {"model": str(write_bert(Path(folder) / "model"))}
        for seed, name in enumerate(("corpus", "other")):
            paths[name] = f"{folder}/{name}.txt"
            Path(paths[name]).write_text("\n".join(random_sentences(240, seed)), encoding="utf-8")
        for name, flags in COMMANDS.items():
            words = [*name.split(), *flags.format(**paths).split(), f"--store={folder}/store", "--json"]
            if name not in ("search-test", "preview"):
                words += [f"--corpus={paths['corpus']}", "--sample-size=160"]
            with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as told:
                status = main(words)
            assert status == 0, told.getvalue()
            yield from (f"json: {name}{key}" for key in dict.fromkeys(_keys(json.loads(out.getvalue()), "")))


if __name__ == "__main__":
    sys.stdout.write("".join(f"{line}\n" for line in contract()))
