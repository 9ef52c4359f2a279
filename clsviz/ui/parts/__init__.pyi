from . import chart, head, marks, own, preview, redrawn, selection, share, strip, toggle

__all__ = ["chart", "head", "marks", "own", "preview", "redrawn", "selection", "share", "strip", "toggle"]
