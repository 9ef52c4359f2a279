from . import drawing, metrics, preview, ready, readying
from .examples import examples
from .lifespan import lifespan
from .routes import middleware, routes

__all__ = [
    "drawing",
    "examples",
    "lifespan",
    "metrics",
    "middleware",
    "preview",
    "ready",
    "readying",
    "routes",
]
