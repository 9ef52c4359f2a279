"""Sentences and paragraphs."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clsviz.errors import SettingError
from clsviz.sources.languages import guess
from clsviz.sources.sentences import cut, is_wrapped, n_words

from .conftest import Read, texts

SENTENCES = [
    *("He looked up.", '"It is late.', 'We must go," he said.', "She wasn't sure."),
    *('"Why?" she asked.', "\"The boys' dog barked.", "'Tis gone.\"", "He left.", '"Come!"'),
    "It rained.",
]
DIALOGUE = " ".join(SENTENCES)


@pytest.mark.parametrize(
    "marks", ['""', "“”", "''", "‘’", "„“", "‚‘", "«»", "»«", "‹›", ("« ", " »")]
)
def test_sentences_end_within_quotations_of_every_kind(marks: str) -> None:
    quoted = re.sub('"([^"]*)"', f"{marks[0]}\\1{marks[1]}", DIALOGUE).replace('"', marks[1])
    assert " ".join(cut(quoted)) == quoted
    words, expected = (
        [re.sub(r"\W", "", one) for one in some] for some in (cut(quoted), SENTENCES)
    )
    assert words == expected


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        (DIALOGUE, SENTENCES),
        ("Mr. Smith lives at 5.5 Main St. in Rome.", ["Mr. Smith lives at 5.5 Main St. in Rome."]),
        ("Great film!<br /><br>I liked it.", ["Great film!", "I liked it."]),
        ("One line\n\nAnother", ["One line", "Another"]),
        ("small letters. they go on. so it is", ["small letters.", "they go on.", "so it is"]),
        ("L’été est là. C’est l’heure.", ["L’été est là.", "C’est l’heure."]),
        ("\"\n\n'Tis so.", ['"', "'Tis so."]),
        (" \n ", []),
    ],
)
def test_texts_are_cut_and_marks_stay_with_their_sentences(text: str, sentences: list[str]) -> None:
    assert cut(text) == sentences


@given(st.text(st.sampled_from("aB1 .!?\n\"'“”‘’«»„<br>"), max_size=80))
def test_nothing_is_lost_or_reordered(text: str) -> None:
    without_breaks = re.sub(r"<br\s*/?>", "", text, flags=re.IGNORECASE)
    assert re.sub(r"\s", "", "".join(cut(text))) == re.sub(r"\s", "", without_breaks)


WRAPPED = """\
The gauge at the bridge was read twice a day, and the figures were kept. Its
keeper wrote them down with a pencil on a slate, and in the evening he copied
them into a book that nobody had asked for. He was a careful man. In a dry
summer the line of his figures fell slowly from page to page, and whoever
turned the pages quickly could see the river sink between its banks.


  After his death the book was found in a cupboard of the mill. It holds
the readings of thirty years."""


def test_wrapped_prose_is_joined_and_cut(read: Read) -> None:
    corpus = read("book.txt", WRAPPED)
    assert corpus.reading.segmentation == "sentences"
    assert corpus.reading.n_texts == 2
    assert texts(corpus) == re.split(r"(?<=\.)\s+", " ".join(WRAPPED.split()))


def test_lines_that_are_sentences_stay_lines(read: Read) -> None:
    lines = [f"This is remark number {n}, and it ends on its own line." for n in range(30)]
    corpus = read("lines.txt", "\n".join(lines))
    assert (corpus.reading.segmentation, texts(corpus)) == ("lines", lines)
    assert not is_wrapped([line.lower() for line in lines])


OTHERS = {
    "de": "Siehe Abs. 3 des Vertrags.|Er wohnt in der Hauptstr. 5 in Bonn.|Sie kommt ggf. später."
    "|Die Sitzung ist am 3. Oktober.|Am 7. Mai sprach Frau Dr. Meier über Bericht Nr. 5.|Ja.",
    "es": "Ayer vino la Dra. Gómez con el Sr. Pérez.|Es la pág. 12 del libro.|¿Quién vino?|Ud. ya.",
    "fr": "Il habite av. Foch avec Mme. Durand.|« Où vas-tu ? » demande-t-il.|C’est la p. 12.",
    "ru": "Проф. Иванов живёт на ул. Ленина.|Он родился в 1950 г. и умер там же.|Это известно.",
    "pl": "Prof. Nowak mieszka przy ul. Długiej.|Pisze książki.",
    "da": "Den 4. Maj kom de hjem.|Mødet varer ca. 5 timer.",
    "pt": "O Sr. Silva mora na Av. Paulista.|Ele não gosta de ler.",
    "it": "Il sig. Rossi abita in via Roma, n. 5.|Il dott. Bianchi non viene.",
    "nl": "Dhr. Jansen woont in de Kerkstr. 5.|Hij is o.a. leraar.",
    "tr": "Dr. Ahmet bey geldi.|Saat 5. sırada ve çok geç.",
    "zh": "他走了……|她没有说话。|真的吗？|他说：“好。”",
    "ja": "彼は行った。|彼女は黙った……|雨が降っていた。",
    "el": "Πού πήγες;|Ο κ. Παπάς ήρθε.|Ήταν ανοιχτή;",
    "hi": "वह घर गया।|क्या वह पहुँचा?|हाँ।",
    "ar": "ذهب إلى البيت.|هل وصل؟|نعم.",
    "uk": "Він живе на вул. Шевченка.|Це так.",
}


@pytest.mark.parametrize("language", OTHERS)
def test_each_language_is_cut_by_its_own_rules(language: str) -> None:
    text, blank = OTHERS[language], "" if language in ("zh", "ja") else " "
    assert cut(text.replace("|", blank), language) == text.split("|")
    assert guess(text) == language


GERMAN = [f"Am {n}. Mai kam Frau Dr. Meier in die Hauptstr. {n}. Das war es." for n in range(1, 4)]
ENGLISH = [f"It was the end of day {n} and we left. There was nobody." for n in range(3)]


def test_a_corpus_is_cut_by_its_language_or_each_text_by_its_own(read: Read) -> None:
    corpus = read("a.jsonl", "\n".join(map(json.dumps, GERMAN)), segmentation="sentences")
    assert (corpus.reading.language, len(texts(corpus))) == ("de", 6)
    assert "rules of the language de, a guess" in corpus.reading.caveats[0]
    both = "\n".join(map(json.dumps, GERMAN + ENGLISH))
    corpus = read("b.jsonl", both, segmentation="sentences")
    assert (corpus.reading.language, len(texts(corpus))) == ("several", 12)
    corpus = read("b.jsonl", both, segmentation="sentences", language="en")
    assert (corpus.reading.language, len(texts(corpus))) == ("en", 15)
    for settings in ({"language": "xx"}, {"language": "de", "segmentation": "lines"}):
        with pytest.raises(SettingError, match="language is"):
            read("b.jsonl", both, **settings)


@pytest.mark.parametrize(
    "lines",
    [
        ["Anna: Are you coming tonight", "Ben: yes, at eight", "[10:32] ben: hello there"],
        ["Installation", "Run the setup script to install all packages.", "Then restart."],
        ["# Title", "Text begins here and\ngoes on.", "- an item", "| Name | Age |", "|---|---|"],
        ["1", "00:00:01,000 --> 00:00:02,500", "Hello there,\nmy friend.", "2"],
        ["Dear Anna,", "I am writing to you.", "Best,", "Ben"],
        ["Return the value of the\nPython interpreter."],
        re.split(r"(?<=\.)\s", WRAPPED.partition("\n\n")[0]),
    ],
    ids=range(7),
)
def test_line_breaks_end_remarks_rows_and_headings_but_not_wrapped_lines(lines: list[str]) -> None:
    assert cut("\n".join(lines)) == lines


@pytest.mark.parametrize(
    ("text", "n"), [("我们 GPU 走了。", 5), ("กำลัง", 4), ("Это так.", 2), ("a — b", 3)]
)
def test_letters_of_scripts_without_spaces_are_words(text: str, n: int) -> None:
    assert n_words(text) == n
