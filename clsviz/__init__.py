"""Whether an encoder writes the length of a sentence into its [CLS] vector, and where.

`import clsviz` is light: torch and the statistics libraries are loaded when something first needs them.

>>> import clsviz
>>> result = clsviz.measure("minilm", "python-docs", n=300)
>>> len(result.table())
300

Every failure that you can fix is a ClsvizError, whose message says what failed and what to do:

>>> try:
...     clsviz.measure("minilm", "python-docs", n=300, layer=7)
... except clsviz.ClsvizError as error:
...     print(error)
layer is 7, but this model has layers 0 to 6.

An Experiment is the whole question as one value, which a link of the dashboard holds:

>>> asked = clsviz.Experiment.from_query({"sample_size": "300", "layer": "3", "pooling": "cls"})
>>> asked.pooling is clsviz.Pooling.CLS
True
>>> clsviz.measure(asked).fit().r_squared == result.fit(layer=3).r_squared
True

`fit` regresses any norms on any lengths, and returns a Fit:

>>> line = clsviz.fit([3, 5, 8, 13, 20], [7.1, 7.2, 7.5, 7.9, 8.6])
>>> isinstance(line, clsviz.Fit), round(line.slope, 3)
(True, 0.089)
"""

import lazy_loader

__version__ = "1.0.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
