"""Run a command, and turn its failures into one line and an exit status."""

import argparse
import atexit
import gc
import io
import os
import pkgutil
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import clsviz
from clsviz.cli import arguments
from clsviz.cli.output import one_line
from clsviz.errors import ClsvizError, SettingError
from clsviz.limits import limits_of

_COMMANDS = {
    "app": "clsviz.cli.main:app",
    "measure": "clsviz.cli.results:measure",
    "probe": "clsviz.cli.results:probe",
    "similarity": "clsviz.cli.results:similarity",
    "search-test": "clsviz.cli.results:search_test",
    "compare": "clsviz.cli.results:compare",
    "preview": "clsviz.cli.files:preview",
    "import": "clsviz.cli.files:import_",
    "warm": "clsviz.cli.files:warm",
}
"""What runs each, imported only then: help is there at once."""

_INTERRUPTED = 130
"""Exit status after Ctrl-C."""

_STDERR = 2
"""The highest number of what every process has open."""

_NEW_OBJECTS = 200_000
"""After so many Python looks for circles among them: libraries make millions as they are imported, which all stay."""


def command() -> NoReturn:
    """Run the command line of this process, and exit with its status."""
    # What goes to an output that the shell closed (>&-) is dropped: the next file to be opened would have its number.
    while (handle := os.open(os.devnull, os.O_RDWR)) <= _STDERR:
        pass
    os.close(handle)
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115  (until the end)
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    gc.set_threshold(_NEW_OBJECTS)
    atexit.register(gc.freeze)  # else Python looks through all of them once more as it ends: a second
    status = main()
    if status == _INTERRUPTED:  # without waiting for other threads, which may be waiting for a download
        sys.stderr.flush()
        os._exit(status)
    sys.exit(status)


def main(words: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status: 2 where the user can fix what went wrong."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a character that it cannot write appears as its code
            stream.reconfigure(errors="backslashreplace")
    try:
        options = arguments.parse(words)
        status: int = pkgutil.resolve_name(_COMMANDS[options.command])(options)
        sys.stdout.flush()
        return status
    except ClsvizError as error:
        print(f"clsviz: {one_line(str(error))}", file=sys.stderr)
        return 2
    except OSError as error:  # of the output: errors in any other file have become a ClsvizError
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  (what is left in the old one cannot be written either)
        print(f"clsviz: The result cannot be printed: {error.strerror}.", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("clsviz: Stopped. The same command continues from here.", file=sys.stderr)
        return _INTERRUPTED


def app(options: argparse.Namespace) -> int:
    """Run Streamlit in this process until it is stopped; its flags follow the script. The exit status.

    Raises SettingError if the environment sets a limit that makes no sense, before there is a visitor to meet it.
    """
    limits_of(os.environ)
    sys.argv = ["streamlit", "run", str(script()), *options.flags]
    try:
        runpy.run_module("streamlit", run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return 0


def script() -> Path:
    """The script that Streamlit runs: it lies beside the folder .streamlit, whose settings Streamlit then takes.

    In a checkout that is the app.py at its top. An installed package has copies of both in a folder of its own, where
    nothing else lies: Streamlit lets Python import what is beside the script.
    """
    package = Path(clsviz.__file__).parent
    for path in (package / "dashboard" / "app.py", package.parent / "app.py"):
        if path.is_file():
            return path
    raise SettingError("The dashboard's app.py is missing from this installation. Reinstall clsviz.")
