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


def test_in_a_link_names_are_as_short_as_tells_them_apart_and_follow_each_other() -> None:
    places = [0, 17, 200, 201, 250, 303]
    text = naming.packed(SENTENCES, places)
    assert text[:2] == "5."
    assert len(text) == 2 + 5 * len(places) + len("~1.") + len("~3.")
    assert re.fullmatch(r"[\w.~-]+", text, re.ASCII)  # none of which an address writes in another way
    names = naming.unpacked(text)
    assert [name[:5] for name in names] == [name[:5] for name in naming.names_of(SENTENCES, places)]
    assert naming.places_of(SENTENCES, names).tolist() == places
    assert naming.places_of(["Another one.", *SENTENCES], names).tolist() == [place + 1 for place in places]
    assert naming.unpacked("abcdefg,hijklmn~12") == ["abcdefg", "hijklmn~12"]  # as links once had them
    assert naming.places_of(SENTENCES, naming.names_of(SENTENCES, places)).tolist() == places


def test_names_that_begin_alike_are_longer_in_a_link() -> None:
    seen: dict[str, str] = {}
    for text in map(str, range(200_000)):  # of 30 bits, half as many as of people for a birthday in common
        other = seen.setdefault(_begin(text), text)
        if other != text:
            break
    sample = ["One.", other, "Two.", text]
    packed = naming.packed(sample, [1])
    assert packed[0] in "67"
    assert naming.places_of(sample, naming.unpacked(packed)).tolist() == [1]
    assert naming.packed(sample, [0])[0] == naming.packed([*sample[:3]], [1])[0] == "5"


def _begin(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode()[:5]


def test_equal_sentences_are_told_apart_by_their_turn() -> None:
    places = [place for place, text in enumerate(SENTENCES) if text == "The same."]
    first, *others = naming.names_of(SENTENCES, places)
    assert others == [f"{first}~1", f"{first}~2", f"{first}~3"]
    assert naming.places_of(SENTENCES, [f"{first}~2", first]).tolist() == [places[0], places[2]]
