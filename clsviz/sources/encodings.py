"""The old code page of a text, by the language that it is written in."""

import re
from typing import Final

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


def guess_code_page(sample: bytes) -> str:
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
