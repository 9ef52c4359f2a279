from clsviz import words
from clsviz.experiment import Experiment


def test_a_picture_of_which_only_the_number_of_points_is_known_has_no_line_in_words() -> None:
    against = "Norm of the [CLS] embedding against sentence length (in tokens)"
    assert words.sharing.alt(Experiment(), 1) == f"{against}: 1 sentence."
    assert words.sharing.alt(Experiment(), 5000) == f"{against}: 5,000 sentences."
    assert words.sharing.alt(Experiment(), 0) == words.sharing.SITE
