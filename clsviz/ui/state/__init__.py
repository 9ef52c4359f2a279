"""Page: state."""
