from . import drawing, drawn, metrics, preview, ready, readying
from .examples import examples
from .lifespan import lifespan
from .routes import middleware, routes

__all__ = [
    "drawing",
    "drawn",
    "examples",
    "lifespan",
    "metrics",
    "middleware",
    "preview",
    "ready",
    "readying",
    "routes",
]
