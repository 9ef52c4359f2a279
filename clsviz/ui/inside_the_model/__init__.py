"""Page: inside_the_model."""
