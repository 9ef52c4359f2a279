from . import assist, chart, citing, drawing, head, marks, own, preview, redrawn, selection, share, strip, toggle

__all__ = [
    "assist",
    "chart",
    "citing",
    "drawing",
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
