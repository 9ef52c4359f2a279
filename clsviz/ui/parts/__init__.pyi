from . import chart, citing, head, marks, own, preview, redrawn, selection, share, strip, toggle

__all__ = ["chart", "citing", "head", "marks", "own", "preview", "redrawn", "selection", "share", "strip", "toggle"]
