"""Text is read in the encoding that it was written in, or the reading names another and why."""

import gzip

import pyarrow as pa
import pytest

from clsviz.errors import CorpusError, SettingError
from clsviz.sources import text_files

from .conftest import Read, parquet, texts

TEXTS = {
    "cp1254": "Şişli'de güneşli bir gün yaşıyoruz.\nBugün işe geç kaldım çünkü yağmur yağıyordu.",
    "cp1250": "Příliš žluťoučký kůň úpěl.\nMůžete mi prosím říct, kolik je hodin?",
    "cp1250 ": "Copiii învaţă să citească şi să scrie.\nAm cumpărat pâine, lapte şi brânză.",
    "cp1250  ": "A gyerekek énekelnek.\nHétfőn hűvös, esős idő volt a hegyekben.",
    "iso8859_2": "Wczoraj poszedłem do sklepu kupić chleb.\nZażółć gęślą jaźń.",
    "cp1257": "Vakar nuėjau į parduotuvę.\nVaikai žaidžia sode už namo, kur žydi gėlės.",
    "cp1251": "Вчера я ходил в магазин.\nНе могли бы вы сказать, который час?",
    "koi8-r": "Вчера я ходил в магазин.\nНе могли бы вы сказать, который час?",
    "cp1253": "Χθες πήγα στο μαγαζί να αγοράσω ψωμί.\nΜπορείτε να μου πείτε τι ώρα είναι;",
    "cp1252": "Können Sie mir sagen, wie spät es ist?\n„Schöne Grüße“, sagte er – „bis später“.",
    "cp1252 ": "L’été dernier, nous étions à la mer.\nLes élèves français aiment ça.",
    "cp1252  ": "He said “hello” – and didn’t pay the £5.\nThe café’s naïve résumé.",
    "cp1252   ": "Le café est fermé.\nÜber die Straße.\nEl niño comió piñata.\nGodmorgen på øen.",
    "cp1255": "אתמול הלכתי לחנות לקנות לחם.\nהילדים משחקים בגינה מאחורי הבית.",
    "shift_jis": "昨日、パンを買いに店へ行きました。\n子供たちは庭で遊んでいます。",
    "euc_jp": "昨日、パンを買いに店へ行きました。\n子供たちは庭で遊んでいます。",
    "gb18030": "昨天我去商店买面包。\n孩子们在屋后的花园里玩耍。",
    "big5": "昨天我去商店買麵包。\n孩子們在屋後的花園裡玩耍。",
    "euc_kr": "어제 빵을 사러 가게에 갔습니다.\n지금 몇 시인지 말씀해 주시겠습니까?",
}


@pytest.mark.parametrize("encoding", TEXTS)
def test_old_code_pages_are_told_apart(read: Read, encoding: str) -> None:
    corpus = read("old.txt", TEXTS[encoding].encode(encoding.strip()))
    assert texts(corpus) == TEXTS[encoding].split("\n")
    assert any("is a guess" in caveat for caveat in corpus.reading.caveats)
    assert corpus.reading.encoding in corpus.reading.caveats[-1]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_unicode_is_read_by_its_mark(read: Read, encoding: str) -> None:
    assert texts(read("wide.txt", "Grüße\nhier\n".encode(encoding))) == ["Grüße", "hier"]


def test_a_setting_overrules_the_guess(read: Read) -> None:
    corpus = read("ambiguous.txt", "þ".encode("cp1252"), encoding="cp1254")
    assert (texts(corpus), corpus.reading.encoding) == (["ş"], "cp1254")
    assert corpus.reading.caveats == ()


@pytest.mark.parametrize(
    ("language", "encoding"),
    [
        *(("shift_jis", "iso2022_jp"), ("euc_kr", "iso2022_kr"), ("cp1252", "utf-16-be")),
        *(("cp1251", "utf-16-le"), ("gb18030", "utf-16-le"), ("cp1251", "utf-32-le")),
        *(("shift_jis", "utf-16-be"), ("euc_kr", "utf-16-le"), ("euc_kr", "utf-32-be")),
    ],
)
def test_encodings_that_are_never_guessed_are_asked_for(read, language, encoding) -> None:
    lines = TEXTS[language].split("\n")
    with pytest.raises(CorpusError, match="Set its encoding"):
        read("a.txt", TEXTS[language].encode(encoding))
    for text in (TEXTS[language], *lines):
        assert texts(read("a.txt", text.encode(encoding), encoding=encoding)) == text.split("\n")


@pytest.mark.parametrize(
    "encoding", [*("utf-16", "utf-32", "utf-16-le", "utf-7"), *("klingon", "hex", "rot13")]
)
def test_encodings_that_a_file_is_not_in_or_python_lacks_are_refused(read, encoding) -> None:
    with pytest.raises(SettingError, match=encoding):
        read("a.csv", "id,text\n1,Grüße\n".encode("cp1252"), encoding=encoding)


def test_damaged_utf8_stays_utf8_and_is_counted(read: Read) -> None:
    corpus = read("damaged.txt", "zwölf Boxkämpfer �\n".encode() * 4 + b"bad \xff\n")
    assert texts(corpus) == ["zwölf Boxkämpfer �"] * 4 + ["bad �"]
    assert corpus.reading.encoding == "utf-8"
    assert corpus.reading.caveats == ("Damaged characters, which are read as �: 1.",)


def test_gzip_is_unpacked_and_a_cut_file_refused(read: Read) -> None:
    packed = gzip.compress(b"One\nTwo\n")
    assert texts(read("a.txt.gz", packed)) == ["One", "Two"]
    with pytest.raises(CorpusError, match="not a complete gzip"):
        read("b.txt.gz", packed[:-4])


@pytest.mark.parametrize("content", [b"", b" \n\t\n", b"\0" * 50, bytes(range(256))], ids=range(4))
def test_files_without_text_are_refused(read: Read, content: bytes) -> None:
    with pytest.raises(CorpusError):
        read("a.txt", content)


REPEATED = parquet(pa.table({"text": ["a b " * 40] * 10_000}))  # the text is stored once


def long(n_rows: int) -> bytes:
    """A Parquet file with a text of 2 MB above others."""
    return parquet(pa.table({"text": ["a " * 2**20, *["b"] * n_rows]}), use_dictionary=False)


@pytest.mark.parametrize(
    ("limit", "name", "content", "reason"),
    [
        ("LARGEST_UNPACKED", "a.txt.gz", gzip.compress(b"word\n" * 2**20), "when unpacked"),
        ("LARGEST_UNPACKED", "a.parquet", REPEATED, "when unpacked"),
        ("LONGEST_LINE", "a.txt", "short\n" + "x" * 3 * 2**20, "Line 2 "),
        ("LONGEST_LINE", "a.parquet", long(0), "texts of 2 MB"),
        ("LONGEST_LINE", "a.parquet", long(10_000), "texts of 2 MB"),
    ],
    ids=range(5),  # a packed file has the time in it, and processes must agree
)
def test_files_that_fill_the_memory_are_refused(
    read: Read, monkeypatch: pytest.MonkeyPatch, limit: str, name: str, content: str, reason: str
) -> None:
    monkeypatch.setattr(text_files, limit, 2**20)
    with pytest.raises(CorpusError, match=reason):
        read(name, content)
