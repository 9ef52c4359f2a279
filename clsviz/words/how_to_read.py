"""How to read the pages."""

HOW_TO_READ_LAYERS = """\
R² says how much of the variation in length can be predicted: 0 is none of it, 1 is all of it; below 0, guessing the \
mean length would have done better. The whole vector is tested with a linear probe, on sentences it was not trained \
on. The direction is the same vector divided by its norm. That need not take the norm out: where a LayerNorm made the \
vector, its norm follows from its direction (see *Inside the model*). The norm alone is read by a straight line, which \
misses a curve. A norm can have a high R² and still barely vary: the chart of its spread shows how much it varies \
relative to its mean. None of this shows that the model uses the length. Click a cell in the \
table of vectors to open its scatter below."""


HOW_TO_READ = """\
Every point is a sentence: its length runs to the right, the norm of its vector upwards. Of 100,000 sentences or more \
only some are points, drawn at random; below them the colour of a cell is the number of all sentences of that length \
and norm, on a logarithmic scale. The red line is the straight \
line that best predicts the norm from the length, with its 95% band. R² is the share of the norm’s variance that the \
line accounts for: 0 is none, 1 is all. The dark curves show what a straight line cannot, such as a spread that \
changes with length: at each length, about 5% of the norms lie below the lowest curve, half below the median, and 95% \
below the highest. “Medians” are those of sentences of similar length, with whiskers from the lower to the upper \
quartile. \
“Lengths at a norm” turns the question round: for sentences of similar norm, it shows the median length and the range \
that holds nine in ten. What does not *stand out from chance* would often look the same if norms had nothing to do \
with length."""
