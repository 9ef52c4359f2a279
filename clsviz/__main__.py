"""`python -m clsviz`: the command line."""

from clsviz.cli import command

command()
