from . import chart, marks, own, preview, selection, share, toggle

__all__ = ["chart", "marks", "own", "preview", "selection", "share", "toggle"]
