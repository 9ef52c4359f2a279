"""Tables with fields between delimiters, as programs and people write them."""

import csv
import io
import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clsviz.errors import CorpusError, SettingError
from clsviz.sources.csv_records import Records, find_layout

from .conftest import Read, texts

UNQUOTED = [f"{n},text number {n}" for n in range(1000)]
QUOTED = [f'"{n}","text number {n}, at ease"' for n in range(1000)]


def lines_of(text: str) -> list[str]:
    return list(io.StringIO(text, newline=""))


def table(lines: list[str], changes: dict[int, str], header: str = "id,text") -> str:
    return "\n".join([header, *(changes.get(n, line) for n, line in enumerate(lines))])


@pytest.mark.parametrize(
    ("changes", "n_unclosed"),
    [
        ({500: '500,"an odd mark'}, 1),
        ({500: '500,"an odd mark', 700: '700,"another'}, 2),
        ({500: '500,"an odd mark', 700: '700,another"'}, 1),
        ({999: '999,"an odd mark'}, 1),
        ({500: '500,an "odd mark', 501: '501,5" wide', 502: '502,"x" and "y"'}, 0),
    ],
)
def test_marks_that_nothing_closes_swallow_no_rows(read, changes, n_unclosed) -> None:
    corpus = read("a.csv", table(UNQUOTED, changes))
    rows = [changes.get(n, line).split(",")[1] for n, line in enumerate(UNQUOTED)]
    assert texts(corpus) == rows
    assert [caveat[-2] for caveat in corpus.reading.caveats] == [str(n_unclosed)] * (n_unclosed > 0)


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ('"not closed', '"not closed'),
        ('not opened"', 'not opened"'),
        ('"he said "no" and left, to me"', 'he said "no" and left, to me'),
        ('"he said ""no"",\nand left"', 'he said "no",\nand left'),
        ('"all ""in marks"""', 'all "in marks"'),
        ('"an \\"odd\\" mark"', 'an "odd" mark'),
    ],
)
def test_one_odd_field_in_a_quoted_table_stays_in_its_row(read, field, text) -> None:
    rows = texts(read("a.csv", table(QUOTED, {500: f'"500",{field}'}, '"id","text"')))
    assert len(rows) == 1000
    assert rows[499:502] == ["text number 499, at ease", text, "text number 501, at ease"]


fields = st.text(st.characters(codec="utf-8"), max_size=8)


@given(
    st.lists(st.tuples(fields, fields), min_size=1),
    st.sampled_from(",;\t|"),
    st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_tables_written_by_pythons_csv_come_back(rows, mark, end) -> None:
    file = io.StringIO()
    csv.writer(file, delimiter=mark, lineterminator=end, quoting=csv.QUOTE_ALL).writerows(rows)
    doubts: Counter[str] = Counter()
    records = Records(lines_of(file.getvalue()), mark, 0, doubts)
    assert list(records) == [list(row) for row in rows if "".join(row).strip()]
    assert not doubts.total()


@given(st.text(st.sampled_from('ab,"\n'), max_size=60))
def test_no_letter_of_any_text_is_lost(text: str) -> None:
    records = Records(lines_of(text), ",", 2, Counter())
    letters = re.findall("[ab]", text)
    assert re.findall("[ab]", "".join(map("".join, records))) == letters


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        ("id;text\n1;one, two, three\n2;four", ["one, two, three", "four"]),
        ("id\ttext\n1\tone, two\n2\tfour", ["one, two", "four"]),
        ("sep=|\nid|text\n1|one, two", ["one, two"]),
        ("Report of May\n\nid,text\n1,one two\n2,four", ["one two", "four"]),
        ("text\none, two\nfour\nfive, six", ["one, two", "four", "five, six"]),
        ("id,text\n1,one, two\n\n2,four", ["one, two", "four"]),
        (",text\r\n1,one \r\n2,four\r\n", ["one ", "four"]),
        ("id,text\r1,one\r2,four", ["one", "four"]),
        ("id,text\r1,one\r\n2,two\n3,three\r", ["one", "two", "three"]),
        ('id,text\r1,"o\rne"\r2,"o\nne\r\n"\n', ["o\rne", "o\nne\r\n"]),
        ('id, text\n1, "one; two, yes"\n2, "four; five"', ["one; two, yes", "four; five"]),
        ('id,text\n1,"\\"so\\", he said"\n2,"a\n\\"b\\""', ['"so", he said', 'a\n"b"']),
        ("id,text\n1,o\0ne\n2,four", ["o\0ne", "four"]),
        ("text,text\none,x\ntwo,y", ["one", "two"]),
        ("note,text\n" + "x,\n" * 5000 + "x,hello there\n", ["hello there"]),
    ],
    ids=range(15),
)
def test_layouts_of_people_are_read(read: Read, content: str, rows: list[str]) -> None:
    for settings in ({}, {"column": "text"}):
        corpus = read("a.csv", content, **settings)
        assert (corpus.reading.column, texts(corpus)) == ("text", rows)


LONG = ["One text of some words which ends.", "Another one no longer than it.", "And a third."]
SHORT = ["a word", "two words", "three words"]


@pytest.mark.parametrize(
    "rows",
    [
        [f"{n % 2},Title {n},{text}" for n, text in enumerate(LONG)],
        [f'"{text}"' for text in LONG],
        [f"positive|{text}" for text in LONG],
        [f"doc{n};{text}" for n, text in enumerate(SHORT)],
        [f"2024-01-0{n + 1}\t{text}" for n, text in enumerate(SHORT)],
    ],
)
def test_a_first_line_like_those_below_is_a_text(read: Read, rows: list[str]) -> None:
    corpus = read("a.csv", "\n".join(rows))
    width = len(re.split(r"[,\t|;](?=\S)", rows[0]))
    assert (corpus.reading.column, len(texts(corpus))) == (str(width), 3)
    assert corpus.reading.caveats[0].startswith("The first line is a text like those below it")


@pytest.mark.parametrize(
    "header",
    ["Zeit,Was hat Ihnen an dem Kurs am besten gefallen?", ",0", "0,1", "Nr.;Satz", "My Text"],
)
def test_names_of_columns_are_no_text(read: Read, header: str) -> None:
    mark = re.sub(r"[^,;\t]", "", header)
    rows = [f"{n + 3}{mark}{text}" if mark else text for n, text in enumerate(LONG)]
    corpus = read("a.csv", "\n".join([header, *rows]))
    assert (len(texts(corpus)), corpus.reading.caveats) == (3, ())


def test_doubtful_rows_are_counted(read: Read) -> None:
    corpus = read("a.csv", "id,text\n1,one\n2\n3,four, five\n4,six")
    assert texts(corpus) == ["one", "four, five", "six"]
    assert [caveat[-3:] for caveat in corpus.reading.caveats] == [" 1.", " 2."]
    corpus = read("a.csv", table(UNQUOTED, {500: '500,"an odd mark', 501: '501,another"'}))
    assert len(texts(corpus)) == 999
    assert corpus.reading.caveats[0].endswith("is a mark missing? 1.")


def test_a_column_of_labels_does_not_win_by_its_name(read: Read) -> None:
    rows = [f"GUM_{n // 5},note {n} about it" for n in range(20)]
    assert read("a.csv", "\n".join(["document,notes", *rows])).reading.column == "notes"
    labels = "\n".join(["document,n", *(f"GUM_{n // 5},{n}" for n in range(20))])
    with pytest.raises(CorpusError, match="“document” holds “GUM_0”"):
        read("b.csv", labels)
    assert len(texts(read("b.csv", labels, column="document"))) == 20


def test_other_columns_come_along_and_are_named(read: Read) -> None:
    corpus = read("a.csv", "id,title,text\n1,One,hello\n2,Two," + "word " * 250)
    assert (len(texts(corpus)), corpus.reading.columns) == (2, ("title",))
    assert corpus.reading.caveats == (
        "The column “text” is a guess: set column to “title” for other texts.",
    )
    assert corpus.table.column_names == ["sentence", "id", "title"]
    with pytest.raises(SettingError, match="nope"):
        read("a.csv", "id,text\n1,hello\n", column="nope")


def test_names_of_columns_are_unique_and_not_too_many() -> None:
    assert find_layout(["a,,a,a"]).header == ("a", "column 2", "a (2)", "a (3)")
    with pytest.raises(CorpusError, match="over 1,000 columns"):
        find_layout(["a" + 1000 * ",a"])
