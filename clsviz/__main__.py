"""The command line: python -m clsviz."""

import os
import sys

from clsviz.cli.main import INTERRUPTED, main

status = main()
if status == INTERRUPTED:  # without waiting for what other threads wait for
    sys.stderr.flush()
    os._exit(status)
sys.exit(status)
