from . import chart, marks, own, preview, redrawn, selection, share, toggle

__all__ = ["chart", "marks", "own", "preview", "redrawn", "selection", "share", "toggle"]
