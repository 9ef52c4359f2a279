"""`python -m clsviz`: the command line."""

from clsviz.cli.main import command

command()
