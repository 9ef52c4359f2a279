"""Where a probe may get the length from: what each alteration is, what it would catch, and what was measured."""

from dataclasses import dataclass

from clsviz.analysis.probes import Origin
from clsviz.settings import Alteration
from clsviz.statistics.intervals import FEW_SENTENCES
from clsviz.statistics.probes import Reading
from clsviz.words.answer import HARDLY
from clsviz.words.numbers import duration
from clsviz.words.readings import clause, counted, is_few, known, untested

QUESTION = "Where does it come from?"


NATURAL = "natural"
"""What the line of unaltered sentences is called."""


@dataclass(frozen=True)
class Label:
    """title: of the picture. line: of the line in it. clause: what was done, in a sentence. catches: what it is for."""

    title: str
    line: str
    clause: str
    catches: str


LABELS = {
    Alteration.SHUFFLED: Label(
        "Tokens shuffled",
        "shuffled",
        "tokens shuffled",
        "The same tokens in random order. Catches a probe that needs word order.",
    ),
    Alteration.RANDOM: Label(
        "Random tokens",
        "random",
        "random tokens",
        "Every token replaced by a random one of the vocabulary. Catches a probe that needs long sentences to have "
        "other words than short ones.",
    ),
    Alteration.REPEATED: Label(
        "One token repeated",
        "repeated",
        "one token repeated",
        "One random token, another for each sentence, in place of all of its tokens. Catches a probe that needs "
        "different tokens.",
    ),
    Alteration.ONE_POSITION: Label(
        "One position",
        "one position",
        "one position for all",
        "All tokens get the position vector of the first. Catches a probe that needs the position vectors (Luo et al. "
        "2021).",
    ),
    Alteration.NO_SEPARATOR: Label(
        "Without [SEP]",
        "without [SEP]",
        "no [SEP]",
        "The [SEP] at the end is left out. Catches a probe that needs it, or the place where it stands (Mohebbi et al. "
        "2021).",
    ),
}


ABOUT = (
    "Each picture changes one thing about the sentences, measures their vectors again, and fits new probes to them. "
    "Where the line falls below that of natural sentences, a probe reads less of the length without what was taken "
    "away. Where it does not, the length can be read without it, which does not show that the probe of natural "
    "sentences reads it that way. What is drawn at random is drawn five times, and its band is their range. Such "
    "sentences are unlike any that the model was trained on. Lengths are in tokens."
)


def cost(seconds: float) -> str:
    """What the button says."""
    return f"Measure five changes · about {duration(seconds)}"


def answer(found: Origin | None) -> str:
    """R² of each alteration after the layer that is best for natural sentences and the last, as far as it is known."""
    if found is None or (found.best is None and not found.is_complete):
        return "Fitting probes…"
    if not_tested := untested(found.n, found.n_clusters, "where a probe gets the length from"):
        return not_tested
    if found.best is None:
        problem = next((clause(reading.problem) for reading in reversed(found.natural) if reading.problem), "")
        return f"No probe can be fitted to these sentences{f': {problem}' if problem else ''}."
    places = [found.best.layer or 0, *([found.n_layers] if found.best.layer != found.n_layers else [])]
    sentences = []
    if known(found.best) < HARDLY:
        sentences.append("A probe hardly reads the length of the natural sentences, so there is little to trace.")
    for place in places:
        there = [
            f"{LABELS[alteration].clause} {_r_squared(readings[place])}{_range(found.draws(alteration, place))}"
            for alteration, readings in found.altered.items()
            if place < len(readings)
        ]
        if place < len(found.natural):
            where = "After the last layer" if place == found.n_layers else f"After layer {place}"
            others = f"; {', '.join(there)}" if there else ""
            sentences.append(f"{where}: natural sentences R² {_r_squared(found.natural[place])}{others}.")
    return " ".join(sentences)


def note(found: Origin) -> str:
    """How many sentences there are, and whether they are few for the width of the vectors."""
    text = counted(found.n, found.n_clusters)
    if found.n_clusters >= FEW_SENTENCES and is_few(found.n_clusters, found.width):
        return f"{text}, few for vectors of {found.width:,} dimensions: with more, all of these lines may be higher."
    return f"{text}."


def _range(values: list[float]) -> str:
    """The lowest and the highest of several draws."""
    if len(values) < 2:
        return ""
    low, high = (max(round(value, 2), 0) + 0 for value in (min(values), max(values)))
    return f" ({low:.2f}–{high:.2f} in {len(values)} draws)"


def _r_squared(reading: Reading) -> str:
    """R² to two decimals; how far below 0 it is says nothing."""
    if reading.r_squared is None:
        return "undefined"
    value = round(reading.r_squared, 2)
    return "below 0" if value < 0 else f"{value + 0:.2f}"
