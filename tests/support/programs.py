"""Programs that tests run in a process of their own."""

BRIEF = "import atexit, gc; gc.disable(); atexit.register(gc.freeze)\n"
"""How one begins that ends soon: to look for circles among all that libraries make takes a third of its time."""
