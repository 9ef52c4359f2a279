"""Run a command, and turn its failures into one line and an exit status."""

import atexit
import gc
import io
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from clsviz.cli import app, arguments, compare, import_, measure, preview, probe, similarity, warm
from clsviz.cli.output import one_line
from clsviz.errors import ClsvizError

_COMMANDS = {
    "app": app,
    "measure": measure,
    "probe": probe,
    "similarity": similarity,
    "compare": compare,
    "preview": preview,
    "import": import_,
    "warm": warm,
}


_INTERRUPTED = 130
"""Exit status after Ctrl-C."""


_STDERR = 2
"""The highest number of what every process has open."""


_NEW_OBJECTS = 200_000
"""After so many Python looks for circles among them: libraries make millions as they are imported, which all stay."""


def command() -> NoReturn:
    """Run the command line of this process, and exit with its status."""
    _fill_in()
    gc.set_threshold(_NEW_OBJECTS)
    atexit.register(gc.freeze)  # else Python looks through all of them once more as it ends: a second
    status = main()
    if status == _INTERRUPTED:  # without waiting for other threads, which may be waiting for a download
        sys.stderr.flush()
        os._exit(status)
    sys.exit(status)


def _fill_in() -> None:
    """Drop what goes to an output that the shell closed (>&-), whose number the next file to be opened would have."""
    while (handle := os.open(os.devnull, os.O_RDWR)) <= _STDERR:
        pass
    os.close(handle)
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115  (until the end)
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115


def main(words: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status: 2 where the user can mend what went wrong."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a character that it cannot write appears as its code
            stream.reconfigure(errors="backslashreplace")
    try:
        options = arguments.parse(words)
        status: int = _COMMANDS[options.command].run(options)
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
