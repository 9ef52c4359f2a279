"""How to read the pages."""

HOW_TO_READ_LAYERS = """\
R² says how much of the differences in length can be read, from 0, nothing, to 1, all; below 0 the mean length would \
have been the better guess. The whole vector is read by a linear probe, which is tried on sentences that it was not \
trained on; the direction is the same vector divided by its norm, so that nothing of the norm is left in it. A norm \
can have a high R² and still hardly vary: the chart of its spread shows by how much of itself it does. In the table of \
vectors a click on a cell opens its scatter below."""


HOW_TO_READ = """\
Every point is a sentence: its length to the right, the norm of its vector upwards. The red line is the \
straight line that predicts the norm best from the length, with its 95% band. R² is the share of the norm’s variance \
that it explains: 0 is nothing, 1 is all. The short bars are the median norm of the sentences of about one length, \
with lines from the lower to the upper quartile: they also show what a straight line cannot, such as a spread that \
changes with length. “Lengths at a norm” turns the question round: for sentences of about one norm, the middle \
length, and the range in which nine in ten lie."""
