"""Page: where_length_lives."""
