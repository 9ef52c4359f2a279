"""What is said of a link before it is opened, and of a picture on another page."""

from clsviz.experiment import Experiment
from clsviz.words.labels import axis_title, length_title
from clsviz.words.numbers import counted

SITE = "clsviz"

ABOUT = "Does an encoder such as BERT write the length of a sentence into its [CLS] vector, and where? See it measured."
"""Of a link whose answer is not known yet."""

TO_MEASURE = "Open the link to measure it."
"""On a picture without points."""

EXAMPLES = "Examples"


def about_examples(n: int) -> str:
    """What stands above n examples."""
    return "Measured already: each opens at once." if n else "Nothing is measured yet."


def alt(experiment: Experiment, n: int) -> str:
    """A picture of n sentences in words."""
    if not n:
        return SITE
    length = length_title(experiment.view)
    against = f"{axis_title(experiment)} against {length[0].lower()}{length[1:]}"
    return f"{against}: {counted(n)}."
