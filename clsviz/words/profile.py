"""What a profile of the layers says, as a paragraph in plain words that holds for any model."""

from clsviz import models
from clsviz.experiment import Experiment
from clsviz.settings import Lengths, Pooling
from clsviz.statistics import Profile, Reading, Readout, steps
from clsviz.words.answer import FEW_SENTENCES, SMALL_SPREAD, STRENGTHS
from clsviz.words.labels import POOLINGS
from clsviz.words.numbers import number

_SIMILAR = 0.05
"""R² values closer than this are reported as the same: folds differ by that much."""


_SENTENCES_PER_DIMENSION = 5
"""With fewer, a probe falls clearly short: for the built-in model's last layer R² is 0.57 with 5,000 sentences, and
about 0.35 with 1,000."""


_NOTHING, _WEAK = STRENGTHS[0][0], STRENGTHS[1][0]
"""Below the first, hardly anything is predicted; below the second, little is."""


_OTHERS = {
    pooling: labels.described for pooling, labels in POOLINGS.items() if labels.line and pooling is not Pooling.CLS
}
"""What is compared with [CLS], as it is called in a sentence."""


_READOUTS = {
    Readout.VECTOR: "whole vector",
    Readout.DIRECTION: "direction alone",
    Readout.NORM: "norm alone",
}

LINES = {(Pooling.CLS, readout): name for readout, name in _READOUTS.items()} | {
    (pooling, Readout.VECTOR): labels.line for pooling, labels in POOLINGS.items() if labels.line
}
"""The lines of the chart of R² by layer, in the order of their colours."""


def answer(profile: Profile | None, experiment: Experiment) -> str:
    """The paragraph of a profile, or what stands in its place, with the controls that are on named first."""
    if profile is None:
        return "Fitting probes…"
    text = paragraph(profile, models.label(experiment.model), experiment.unit)
    if experiment.lengths is Lengths.SHUFFLED:
        text = f"Control: lengths are shuffled across sentences, so whatever the probes find is chance. {text}"
    if models.Name.parse(experiment.model).untrained:
        text = f"Control: these weights are random, so whatever the probes find is there without training. {text}"
    return text


def paragraph(profile: Profile, model: str, unit: str = "tokens") -> str:
    """Where length can be predicted from, as far as is known: after which layer, and from what; about six sentences.

    model: its label. unit: what lengths are counted in.
    """
    best = profile.best
    if best is None:
        sentences = [_few(profile), _nothing_predicted(profile, model), _norm_at_most(profile), _poolings(profile)]
    else:
        is_there = _known(best) >= _NOTHING
        sentences = [
            _few(profile),
            _whole(profile, best, model, unit),
            _last(profile, best) if is_there else "",
            _norm_or_direction(profile, best) if is_there else _norm_at_most(profile),
            _poolings(profile),
            _embedding(profile),
        ]
    return " ".join(sentence for sentence in [*sentences, _missing(profile)] if sentence)


def strength(r_squared: float) -> str:
    """How well length is predicted with an R² like this, as an adverb to stand before “be predicted”."""
    word = next((word for limit, word in STRENGTHS if r_squared < limit), "Almost entirely").lower()
    return "only weakly" if word == "weakly" else word


def _known(reading: Reading) -> float:
    """The R² of a reading that has one."""
    assert reading.r_squared is not None
    return reading.r_squared


def _r_squared(reading: Reading) -> str:
    """R² to three decimals; how far below 0 it is says nothing, so that is left out."""
    value = round(_known(reading), 3)
    return "R² below 0" if value < 0 else f"R² {value:.3f}"


def _place(profile: Profile, layer: int | None) -> str:
    if layer == 0:
        return "at the embedding layer"
    return "after the last layer" if layer in (None, profile.n_layers) else f"after layer {layer}"


def _nothing_predicted(profile: Profile, model: str) -> str:
    """The reason why no [CLS] vector gave an R², if there is one."""
    last = profile.get(Pooling.CLS, None, Readout.VECTOR)
    if last is None:
        return f"How well length can be predicted from the [CLS] vector of {model} is not known yet."
    return f"Length cannot be predicted from the [CLS] vector of {model} after any layer. {last.problem}"


def _whole(profile: Profile, best: Reading, model: str, unit: str) -> str:
    """The layer whose vector predicts length best, and how well."""
    so_far = "" if None not in profile.line(Pooling.CLS, Readout.VECTOR) else " among the layers done so far"
    how = "by a linear probe, on held-out sentences"
    text = f"Sentence length in {unit} can {strength(_known(best))} be predicted from the [CLS] vector of {model}"
    if _known(best) < _NOTHING:
        done_so_far = " done so far" if so_far else ""
        return f"{text} after any layer{done_so_far}: {_r_squared(best)} at best, {how}."
    return f"{text}, best{so_far} {_place(profile, best.layer)} ({_r_squared(best)}, {how})."


def _last(profile: Profile, best: Reading) -> str:
    """How well the last layer does, and its norm alone."""
    last = profile.get(Pooling.CLS, None, Readout.VECTOR)
    if last is None or best.layer == last.layer:
        return ""
    if last.r_squared is None:
        return f"After the last layer it cannot be predicted: {last.problem[:1].lower()}{last.problem[1:]}"
    norm = profile.get(Pooling.CLS, None, Readout.NORM)
    alone = f", where {_norm_alone(norm)}" if norm else ""
    if _known(best) - last.r_squared < _SIMILAR:
        return f"Little of that is lost by the last layer ({_r_squared(last)}){alone}."
    return f"After the last layer it can {strength(last.r_squared)} be predicted ({_r_squared(last)}){alone}."


def _norm_or_direction(profile: Profile, best: Reading) -> str:
    """Whether the norm or the direction alone does as well as the whole vector, after the best layer."""
    norm = profile.get(Pooling.CLS, best.layer, Readout.NORM)
    direction = profile.get(Pooling.CLS, best.layer, Readout.DIRECTION)
    place = _place(profile, best.layer).capitalize()
    if norm is None:
        return ""
    if direction is None:
        return f"{place}, {_norm_alone(norm)}."
    enough = _known(best) - min(_SIMILAR, _known(best) / 4)  # a small part of a small R² is not as good
    by_norm = norm.r_squared is not None and norm.r_squared > enough
    if direction.r_squared is not None and direction.r_squared > enough:
        text = f"{place}, the direction alone does as well ({_r_squared(direction)}), and {_norm_alone(norm)}"
        if by_norm:
            return f"{text}: either one predicts length without the other."
        if norm.r_squared is None or norm.r_squared < _WEAK:
            return f"{text}: length can be predicted from the direction much better than from the norm."
        by_norm_alone = f"{strength(norm.r_squared)} from the norm alone"
        return f"{text}: length can be predicted from the direction alone, and {by_norm_alone}."
    worse = "gives no R²" if direction.r_squared is None else f"does worse ({_r_squared(direction)})"
    text = f"{place}, {_norm_alone(norm)}, while the direction alone {worse}"
    if by_norm:
        return f"{text}: length can be predicted from the norm rather than from the direction."
    return f"{text}: neither alone does as well as the whole vector."


def _norm_alone(norm: Reading) -> str:
    """How well the norm alone does, and whether it varies at all, as a clause."""
    if norm.r_squared is None:
        return "the norm alone gives no R²"
    varies = "" if norm.norm_sd >= SMALL_SPREAD * norm.norm_mean else f", though it barely varies ({_spread(norm)})"
    return f"the norm alone gives {_r_squared(norm)}{varies}"


def _spread(norm: Reading) -> str:
    return f"standard deviation {number(norm.norm_sd, digits=2)}, around a mean of {norm.norm_mean:.2f}"


def _norm_at_most(profile: Profile) -> str:
    """The best that a norm of [CLS] does, if no whole vector does well, or none is done yet."""
    norms = [reading for reading in profile.line(Pooling.CLS, Readout.NORM) if reading]
    known = [reading for reading in norms if reading.r_squared is not None]
    if not known:
        return ""
    most = max(known, key=_known)
    if profile.best is None:
        return f"Its norm does best {_place(profile, most.layer)}: {_norm_alone(most)}."
    if _known(most) < _NOTHING:
        return f"Its norm does no better: {_r_squared(most)} at most."
    unseen = "which a linear probe of the whole vector does not pick up"
    return f"But {_place(profile, most.layer)} {_norm_alone(most)}, {unseen}."


def _poolings(profile: Profile) -> str:
    """How mean pooling and the pooler output compare with [CLS] after the last layer."""
    cls = profile.get(Pooling.CLS, None, Readout.VECTOR)
    others = [(name, profile.get(pooling, None, Readout.VECTOR)) for pooling, name in _OTHERS.items()]
    clauses = [f"{name} {_compared(other, cls)}" for name, other in others if other and cls]
    if cls is None or all(other is None or other.r_squared is None for _, other in others):
        return ""
    own = "no R²" if cls.r_squared is None else _r_squared(cls)
    return f"Compared with [CLS] after the last layer ({own}), {' and '.join(clauses)}."


def _compared(other: Reading, cls: Reading) -> str:
    """How well another vector does, compared with [CLS]."""
    if other.r_squared is None:
        return "gives no R²"
    more = other.r_squared - (cls.r_squared or 0.0)
    amount = "about as well" if abs(more) < _SIMILAR else "better" if more > 0 else "worse"
    if max(other.r_squared, cls.r_squared or 0.0) < _NOTHING:
        amount = "hardly better than a guess" if cls.r_squared is None else "no better"
    return f"does {amount} ({_r_squared(other)})"


def _embedding(profile: Profile) -> str:
    """Why [CLS] predicts nothing at the embedding layer of models where nothing of the sentence has reached it yet."""
    vector = profile.get(Pooling.CLS, 0, Readout.VECTOR)
    norm = profile.get(Pooling.CLS, 0, Readout.NORM)
    if (
        vector is None
        or vector.r_squared is not None
        or norm is None
        or not norm.norm_sd < SMALL_SPREAD * norm.norm_mean
    ):
        return ""
    return (
        "At the embedding layer, [CLS] is the same for every sentence, as usual: only its own embedding, its position "
        "and its token type go into it."
    )


def _few(profile: Profile) -> str:
    if 3 <= profile.n < FEW_SENTENCES:  # with fewer than 3 there is no answer at all
        return f"That is only {profile.n} sentences; take more for a firm answer."
    if 3 <= profile.n < _SENTENCES_PER_DIMENSION * profile.width:
        return (
            f"{profile.n:,} sentences are too few for firm figures with {profile.width:,}-dimensional vectors: with "
            "more sentences, probes predict better."
        )
    return ""


def _missing(profile: Profile) -> str:
    """What is still to come."""
    if profile.is_complete:
        return ""
    n = len(steps(profile.n_layers, profile.has_pooler))
    return f"So far, {len(profile.readings)} of {n} readings are done."
