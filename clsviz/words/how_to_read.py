"""How to read the pages."""

HOW_TO_READ_LAYERS = """\
Each point says by how much predicted lengths are off after a layer, on average: 0 would be no error, and the dotted \
line is the error of guessing the mean length. A linear probe reads the vector and a straight line reads its norm; \
both are tested on sentences that they were not fitted to. A line misses a curve. Point at a layer for R², the share \
of the variation in length that is predicted: below 0, guessing would have done better. The R² of the norm is that \
of its line through all sentences. The direction is the vector divided by its norm. That need not take the norm out: \
where a LayerNorm made the vector, its norm follows from its direction (see *Inside the model*). A norm can have a \
high R² and still barely vary: the chart of its spread shows how much it varies relative to its mean. None of this \
shows that the model uses the length."""


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
