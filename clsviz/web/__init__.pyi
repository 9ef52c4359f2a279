from . import drawing, metrics
from .routes import middleware, routes

__all__ = ["drawing", "metrics", "middleware", "routes"]
