from . import crowd, identity, links, server, serving, session, sessions, url, visitor, watching

__all__ = ["crowd", "identity", "links", "server", "serving", "session", "sessions", "url", "visitor", "watching"]
