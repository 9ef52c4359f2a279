"""The command line: `clsviz`, and python -m clsviz."""

import os
import sys
from contextlib import suppress
from typing import NoReturn


def command() -> NoReturn:
    """The entry point of the command; its imports take long enough for Ctrl-C."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # it was closed
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))
    try:
        from clsviz.cli import main, print_text
        from clsviz.errors import ClsvizError

        try:
            status = main()
        finally:
            with suppress(ClsvizError):
                print_text("", end="")  # what argparse has printed is not flushed yet
    except KeyboardInterrupt:
        print("clsviz: stopped.", file=sys.stderr)
        status = 130
    sys.exit(status)


if __name__ == "__main__":
    command()
