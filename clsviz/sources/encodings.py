"""The encoding of a text: Unicode, or the old code page of the language that it is written in."""

import codecs
import itertools
import re
from collections.abc import Iterable
from typing import Final

BOMS: Final = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32",  # before that of UTF-16, which it begins with
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}

NEVER_GUESSED: Final = (b"\n\0", b"\0\n", b"\x1b$")
"""Signs of UTF-16 without a byte order mark, and of Japanese or Korean in bytes of ASCII."""

SAMPLE_BYTES: Final = 2**16

WESTERN: Final = (
    *("äöüß", "éèêëàâçîïôùûüœæÿ", "áéíóúñüª", "àèéìòù", "ãõáéíóúâêôàçü", "éëïóöü"),
    *("åäöé", "æøåéó"),
)
"""German, French, Spanish, Italian, Portuguese, Dutch, Swedish or Finnish, Danish or Norwegian."""

CENTRAL: Final = (
    *("ąćęłńóśźż", "áčďéěíňóřšťúůýž", "áäčďéíĺľňóôŕšťúýž", "áéíóöőúüű", "ăâîşţ", "čćđšž", "çë"),
)
"""Polish, Czech, Slovak, Hungarian, Romanian, Croatian and Slovene, Albanian."""

LATIN: Final = (
    *(("cp1252", letters) for letters in WESTERN),
    ("cp1254", "çğıöşüâîû\N{COMBINING DOT ABOVE}"),  # which İ has in small letters
    *(("cp1250", letters) for letters in CENTRAL),
    *(("cp1257", letters) for letters in ("ąčęėįšųūž", "āčēģīķļņšūž", "äõöüšž")),
    ("cp1252", "áðéíóúýþæö"),
    *(("iso8859_2", letters) for letters in CENTRAL),
    ("cp1252", "".join(WESTERN)),  # several languages
)
"""Encodings with a language's letters beyond ASCII, likelier first: Turkish before Icelandic."""

OTHERS: Final = [
    *("cp1251", "koi8_r", "koi8_u", "cp866", "iso8859_5", "cp1253", "cp1255"),
    *("cp1256", "cp874", "shift_jis", "cp932", "euc_jp", "gb18030", "big5", "euc_kr"),
]
"""Without cp949, which nearly any Japanese text is valid in."""

SIGNS: Final = "“”„‟‘’‚«»‹›–—…•·€£§©®™°¿¡ºª\N{NO-BREAK SPACE}"


def find_encoding(chunks: Iterable[bytes]) -> tuple[str, bool]:
    """The likeliest encoding of a text in some chunks, and True if it is a guess; "" for none.

    A few damaged characters make UTF-8 no other encoding, in which all the rest would be wrong.
    """
    n_valid = n_damaged = 0
    sample, rest = b"", b""
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    for number, chunk in enumerate(itertools.chain(chunks, [b""])):
        for bom, encoding in BOMS.items():
            if number == 0 and chunk.startswith(bom):
                return encoding, False
        if any(sign in chunk for sign in NEVER_GUESSED):
            return "", True
        text = decoder.decode(chunk, final=not chunk)
        n_damaged += len(re.findall("[\udc80-\udcff]", text))
        n_valid += len(re.findall("[^\0-\x7f\udc80-\udcff]", text))
        if n_damaged and len(sample) < SAMPLE_BYTES:
            lines = (rest + chunk).splitlines()
            ended = lines[:-1] if chunk and len(lines) > 1 else lines
            sample += b"\n".join(line for line in ended if not line.isascii()) + b"\n"
        rest = chunk[chunk.rfind(b"\n") + 1 :]
    if 2 * n_damaged <= n_valid:
        return "utf-8", False
    # Long lines are cut where they are far from the letters in question.
    sample = re.sub(rb"(?<=[\0-\x7f]{50})[\0-\x7f]{100,}", b"\n", sample)
    end = sample.rfind(b"\n", 0, SAMPLE_BYTES)
    return _guess_code_page(sample[: end if end > 0 else SAMPLE_BYTES]), True


def _guess_code_page(sample: bytes) -> str:
    """The likeliest encoding of lines that are not UTF-8.

    Texts in Latin letters have most of them in ASCII, and nearly all others are of one language.
    """
    scores = [_share(sample.decode(encoding, "replace"), letters) for encoding, letters in LATIN]
    score, latin = max(scores), LATIN[scores.index(max(scores))][0]
    n_high, n_ascii = (len(re.findall(kind, sample)) for kind in (rb"[\x80-\xff]", rb"[A-Za-z]"))
    if n_high < n_ascii and score > 0.9:
        return latin
    import charset_normalizer

    for end in range(len(sample), len(sample) - 4, -1):  # the last character may be cut
        for choices in (OTHERS, None):
            if match := charset_normalizer.from_bytes(sample[:end], cp_isolation=choices).best():
                return match.encoding
    return latin


def _share(text: str, letters: str) -> float:
    """Share of the characters beyond ASCII that are letters of a language, or signs."""
    beyond = re.sub(r"[\0-\x7f]", "", text.lower())
    return len(re.findall(f"[{letters}{SIGNS}]", beyond)) / max(1, len(beyond))
