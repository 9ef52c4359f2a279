from . import identity, links, server, serving, session, sessions, url, visitor, watching

__all__ = ["identity", "links", "server", "serving", "session", "sessions", "url", "visitor", "watching"]
