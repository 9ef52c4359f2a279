from . import crowd, identity, links, server, session, url, visitor, watching

__all__ = ["crowd", "identity", "links", "server", "session", "url", "visitor", "watching"]
