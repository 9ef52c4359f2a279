from . import drawing, metrics
from .examples import examples
from .lifespan import lifespan
from .routes import middleware, routes

__all__ = ["drawing", "examples", "lifespan", "metrics", "middleware", "routes"]
