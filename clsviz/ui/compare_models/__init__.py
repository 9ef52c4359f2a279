"""Page: compare_models."""
