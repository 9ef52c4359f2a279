"""Answers in words. Their folder `data` holds the numbers that come with clsviz."""
