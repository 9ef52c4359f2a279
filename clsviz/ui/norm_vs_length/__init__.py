"""Page: norm_vs_length."""
