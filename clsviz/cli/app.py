"""`clsviz app`: start the dashboard."""

import argparse
import os
import runpy
import sys
from pathlib import Path

import clsviz
from clsviz.errors import SettingError
from clsviz.limits import limits_of


def run(options: argparse.Namespace) -> int:
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
