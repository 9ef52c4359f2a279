"""Page: length_and_search."""
