"""What is fast, and how fast: each module is a program of its own."""
