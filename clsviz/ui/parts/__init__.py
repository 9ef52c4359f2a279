"""Page: parts."""
