"""The command line: python -m clsviz."""

import sys

from clsviz.cli import main

sys.exit(main())
