"""Page: controls."""
