"""The command line: python -m clsviz."""

from clsviz.cli import command

command()
