from . import chart, own, selection, share, toggle

__all__ = ["chart", "own", "selection", "share", "toggle"]
