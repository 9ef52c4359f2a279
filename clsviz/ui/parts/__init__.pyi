from . import assist, chart, citing, head, marks, own, preview, redrawn, selection, share, strip, toggle

__all__ = [
    "assist",
    "chart",
    "citing",
    "head",
    "marks",
    "own",
    "preview",
    "redrawn",
    "selection",
    "share",
    "strip",
    "toggle",
]
