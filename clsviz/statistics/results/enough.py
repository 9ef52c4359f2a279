"""How many sentences are enough."""

FEW_SENTENCES = 100
"""Different ones, those that are nearly the same counted once. Among fewer, the 5% quantile would rest on less than
five, and a tenth of them by length would be less than ten: no answer is firm."""


FEWEST_OF_LINE = 3
"""Through any two a line goes, so that it says nothing."""
