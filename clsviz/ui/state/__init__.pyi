from . import links, server, session, url, visitor, watching

__all__ = ["links", "server", "session", "url", "visitor", "watching"]
