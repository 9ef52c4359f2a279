from . import chart, own, preview, selection, share, toggle

__all__ = ["chart", "own", "preview", "selection", "share", "toggle"]
