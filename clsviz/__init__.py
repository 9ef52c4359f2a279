"""Whether an encoder writes the length of a sentence into its [CLS] vector, and where."""
