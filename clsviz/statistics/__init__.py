"""Statistics on plain arrays: arrays in, numbers out."""
