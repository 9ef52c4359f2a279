"""Page: try_a_sentence."""
