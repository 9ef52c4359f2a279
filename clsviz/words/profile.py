"""What a profile of the layers says, as a paragraph in plain words that is true of any model."""

from clsviz.settings import Pooling
from clsviz.statistics import Profile, Reading, Readout, steps
from clsviz.words.answer import FEW_SENTENCES, SMALL_SPREAD, STRENGTHS
from clsviz.words.numbers import number

_SIMILAR = 0.05
"""R² that differ by less are told as the same: so much they may differ between folds."""


_SENTENCES_PER_COMPONENT = 5
"""With fewer, a probe reads clearly less than is there: that of the built-in model’s last layer, with 5,000 sentences
R² 0.57, with 1,000 some 0.35."""


_NOTHING, _WEAK = STRENGTHS[0][0], STRENGTHS[1][0]
"""R² below the first say that hardly anything is there, below the second that little is."""


_OTHERS = {Pooling.MEAN: "the mean of all tokens’ vectors", Pooling.POOLER: "the pooler output"}
"""What is compared with [CLS], by the names that a sentence can hold."""


def paragraph(profile: Profile, model: str, unit: str = "tokens") -> str:
    """What was read of a model so far: where the length is, and in what; some six sentences.

    model: its label for people. unit: what lengths are counted in.
    """
    best = profile.best
    if best is None:
        sentences = [_few(profile), _nothing_read(profile, model), _norm_at_most(profile), _poolings(profile)]
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
    """How much of the length an R² stands for, in a word to stand before “be read”."""
    return next((word for limit, word in STRENGTHS if r_squared < limit), "Almost entirely").lower()


def _known(reading: Reading) -> float:
    """R² of a reading that has one."""
    assert reading.r_squared is not None
    return reading.r_squared


def _r_squared(reading: Reading) -> str:
    """R² to three decimals; below 0 it says only that the mean length would be the better guess."""
    value = round(_known(reading), 3)
    return "R² below 0" if value < 0 else f"R² {value:.3f}"


def _place(profile: Profile, layer: int | None) -> str:
    if layer == 0:
        return "at the embedding layer"
    return "after the last layer" if layer in (None, profile.n_layers) else f"after layer {layer}"


def _nothing_read(profile: Profile, model: str) -> str:
    """Where no vector of [CLS] gave an R²: the reason, if there is one."""
    last = profile.get(Pooling.CLS, None, Readout.VECTOR)
    if last is None:
        return f"How well the length can be read from the [CLS] vector of {model} is not known yet."
    return f"After no layer can the length be read from the [CLS] vector of {model}. {last.problem}"


def _whole(profile: Profile, best: Reading, model: str, unit: str) -> str:
    """From which layer's vector the length can be read best, and how well."""
    so_far = "" if None not in profile.line(Pooling.CLS, Readout.VECTOR) else ", of the layers read so far,"
    how = "by a linear probe on sentences it was not trained on"
    text = f"The length of a sentence in {unit} can {strength(_known(best))} be read from the [CLS] vector of {model}"
    if _known(best) < _NOTHING:
        return f"{text} after any layer{so_far}: {_r_squared(best)} at best, {how}."
    return f"{text}, best{so_far} {_place(profile, best.layer)} ({_r_squared(best)}, {how})."


def _last(profile: Profile, best: Reading) -> str:
    """What is left of it after the last layer, and what the norm alone gives there."""
    last = profile.get(Pooling.CLS, None, Readout.VECTOR)
    if last is None or best.layer == last.layer:
        return ""
    if last.r_squared is None:
        return f"After the last layer it cannot be read: {last.problem[:1].lower()}{last.problem[1:]}"
    norm = profile.get(Pooling.CLS, None, Readout.NORM)
    alone = f", where {_norm_alone(norm)}" if norm else ""
    if _known(best) - last.r_squared < _SIMILAR:
        return f"Little of that is lost up to the last layer ({_r_squared(last)}){alone}."
    return f"It can {strength(last.r_squared)} be read after the last layer ({_r_squared(last)}){alone}."


def _norm_or_direction(profile: Profile, best: Reading) -> str:
    """Whether the norm or the direction carries what is read, where most is."""
    norm = profile.get(Pooling.CLS, best.layer, Readout.NORM)
    direction = profile.get(Pooling.CLS, best.layer, Readout.DIRECTION)
    place = _place(profile, best.layer).capitalize()
    if norm is None:
        return ""
    if direction is None:
        return f"{place}, {_norm_alone(norm)}."
    enough = _known(best) - min(_SIMILAR, _known(best) / 4)  # of little, a little is not as much
    by_norm = norm.r_squared is not None and norm.r_squared > enough
    if direction.r_squared is not None and direction.r_squared > enough:
        text = f"{place}, the direction alone gives as much ({_r_squared(direction)}), and {_norm_alone(norm)}"
        if by_norm:
            return f"{text}: either holds the length without the other."
        if norm.r_squared is None or norm.r_squared < _WEAK:
            return f"{text}: it is the direction that carries the length, not the norm."
        return f"{text}: the direction holds the length without the norm, and the norm {strength(norm.r_squared)}."
    less = "nothing" if direction.r_squared is None else f"less ({_r_squared(direction)})"
    text = f"{place}, {_norm_alone(norm)}, and the direction alone gives {less}"
    if by_norm:
        return f"{text}: it is the norm that carries the length."
    return f"{text}: neither holds alone what the vector holds."


def _norm_alone(norm: Reading) -> str:
    """What the norm alone gives, and whether it varies at all, as a clause."""
    if norm.r_squared is None:
        return "the norm alone gives nothing"
    varies = "" if norm.norm_sd >= SMALL_SPREAD * norm.norm_mean else f", though it hardly varies ({_spread(norm)})"
    return f"the norm alone gives {_r_squared(norm)}{varies}"


def _spread(norm: Reading) -> str:
    return f"standard deviation {number(norm.norm_sd, digits=2)}, around {norm.norm_mean:.2f}"


def _norm_at_most(profile: Profile) -> str:
    """The most that a norm of [CLS] gives, where no whole vector gives anything, or none is read yet."""
    norms = [reading for reading in profile.line(Pooling.CLS, Readout.NORM) if reading]
    known = [reading for reading in norms if reading.r_squared is not None]
    if not known:
        return ""
    most = max(known, key=_known)
    if profile.best is None:
        return f"Of its norm, most can be read {_place(profile, most.layer)}: {_norm_alone(most)}."
    if _known(most) < _NOTHING:
        return f"Nor does its norm tell more: {_r_squared(most)} at most."
    return f"But {_place(profile, most.layer)} {_norm_alone(most)}, which a linear probe of the vector cannot see."


def _poolings(profile: Profile) -> str:
    """How mean pooling and the pooler output compare with [CLS] after the last layer."""
    cls = profile.get(Pooling.CLS, None, Readout.VECTOR)
    others = [(name, profile.get(pooling, None, Readout.VECTOR)) for pooling, name in _OTHERS.items()]
    clauses = [f"{name} gives {_compared(other, cls)}" for name, other in others if other and cls]
    if cls is None or all(other is None or other.r_squared is None for _, other in others):
        return ""
    own = "nothing" if cls.r_squared is None else _r_squared(cls)
    return f"Beside [CLS] after the last layer ({own}), {' and '.join(clauses)}."


def _compared(other: Reading, cls: Reading) -> str:
    """What another vector gives, against [CLS]."""
    if other.r_squared is None:
        return "nothing"
    more = other.r_squared - (cls.r_squared or 0.0)
    amount = "about as much" if abs(more) < _SIMILAR else "more" if more > 0 else "less"
    if max(other.r_squared, cls.r_squared or 0.0) < _NOTHING:
        amount = "hardly anything" if cls.r_squared is None else "no more"
    return f"{amount} ({_r_squared(other)})"


def _embedding(profile: Profile) -> str:
    """Why [CLS] holds nothing at the embedding layer of the models where nothing of the sentence enters it there."""
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
        "At the embedding layer [CLS] is the same for all sentences, as is usual: only its position and token type "
        "enter there."
    )


def _few(profile: Profile) -> str:
    if 3 <= profile.n < FEW_SENTENCES:  # of fewer than 3 nothing is said that could be firmer
        return f"These are only {profile.n} sentences: take more for a firm answer."
    if 3 <= profile.n < _SENTENCES_PER_COMPONENT * profile.width:
        return (
            f"These are only {profile.n:,} sentences for the {profile.width:,} components of a vector, too few for "
            "firm figures: of more, probes read more."
        )
    return ""


def _missing(profile: Profile) -> str:
    """What is yet to be read."""
    if profile.is_complete:
        return ""
    n = len(steps(profile.n_layers, profile.has_pooler))
    return f"This is what is known so far: {len(profile.readings)} of {n} readings are made."
