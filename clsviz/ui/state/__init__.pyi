from . import links, server, serving, session, url, visitor, watching

__all__ = ["links", "server", "serving", "session", "url", "visitor", "watching"]
