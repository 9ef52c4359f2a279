from . import drawing, metrics
from .lifespan import lifespan
from .routes import middleware, routes

__all__ = ["drawing", "lifespan", "metrics", "middleware", "routes"]
