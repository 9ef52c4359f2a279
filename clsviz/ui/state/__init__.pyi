from . import crowd, identity, links, server, serving, session, url, visitor, watching

__all__ = ["crowd", "identity", "links", "server", "serving", "session", "url", "visitor", "watching"]
