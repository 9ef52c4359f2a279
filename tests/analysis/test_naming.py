import base64
import hashlib
import re

from support.tiny import random_sentences

from clsviz.analysis import naming

SENTENCES = [*random_sentences(200, seed=5), *["The same."] * 3, *random_sentences(100, seed=6), "The same.", ""]


def test_a_name_is_made_of_the_text_alone() -> None:
    (name,) = naming.names_of(SENTENCES, [7])
    digest = hashlib.sha256(SENTENCES[7].encode()).digest()
    assert name == base64.urlsafe_b64encode(digest)[:7].decode()[:6] + name[6]
    assert naming.names_of([SENTENCES[7]], [0]) == [name]
    assert re.fullmatch(r"[\w-]{7}", name, re.ASCII)


def test_names_lead_back_whatever_else_is_in_the_sample() -> None:
    places = [0, 17, 199, 201, 250, 303, 304]
    names = naming.names_of(SENTENCES, places[::-1])
    assert names == naming.names_of(SENTENCES, places)
    assert naming.places_of(SENTENCES, names).tolist() == places
    larger = ["Another one.", *SENTENCES, "And one more."]
    assert naming.places_of(larger, names).tolist() == [place + 1 for place in places]
    assert naming.places_of(SENTENCES[:202], names).tolist() == [0, 17, 199, 201]  # those that it has
    assert naming.places_of([], names).tolist() == naming.places_of(SENTENCES, []).tolist() == []
    assert naming.names_of(SENTENCES, []) == []


def test_equal_sentences_are_told_apart_by_their_turn() -> None:
    places = [place for place, text in enumerate(SENTENCES) if text == "The same."]
    first, *others = naming.names_of(SENTENCES, places)
    assert others == [f"{first}~1", f"{first}~2", f"{first}~3"]
    assert naming.places_of(SENTENCES, [f"{first}~2", first]).tolist() == [places[0], places[2]]
