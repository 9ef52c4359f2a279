"""The command line: `clsviz`, or `python -m clsviz`."""
