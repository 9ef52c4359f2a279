"""How many visitors there may be, and what each may have in a minute."""

from dataclasses import replace

import pytest
from support.waiting import Somebody

from clsviz.errors import TooManyError
from clsviz.limits import LOCAL, PUBLIC
from clsviz.ui.state.sessions import Crowd


def test_a_server_has_room_for_so_many_sessions_and_for_others_once_they_are_gone() -> None:
    crowd = Crowd(replace(PUBLIC, sessions=2))
    a, b, c, d = (Somebody() for _ in range(4))
    assert [crowd.admit(one) for one in (a, b, c)] == [True, True, False]
    assert crowd.admit(a)  # whoever is in stays in
    b.is_connected = False
    assert crowd.admit(c)
    assert not crowd.admit(d)


def test_locally_there_is_room_for_all() -> None:
    crowd = Crowd(LOCAL)
    assert all(crowd.admit(Somebody()) for _ in range(1000))
    crowd.take_sentences("", 10**6)


def test_a_visitor_has_so_many_sentences_measured_in_a_minute() -> None:
    now = 0.0
    crowd = Crowd(replace(PUBLIC, sentences_per_minute=10), clock=lambda: now)
    crowd.take_sentences("a", 6)
    now = 30.0
    crowd.take_sentences("a", 4)
    with pytest.raises(TooManyError, match="up to 10 of your own sentences a minute"):
        crowd.take_sentences("a", 1)
    crowd.take_sentences("b", 10)  # another visitor's are not counted
    now = 60.0
    crowd.take_sentences("a", 6)  # those of a minute ago are over
    with pytest.raises(TooManyError):
        crowd.take_sentences("a", 1)


def test_one_long_request_is_not_refused_for_ever() -> None:
    crowd = Crowd(replace(PUBLIC, sentences_per_minute=10), clock=lambda: 0.0)
    crowd.take_sentences("a", 60)
    with pytest.raises(TooManyError):
        crowd.take_sentences("a", 1)
