"""How a file of the user's own was read."""

from clsviz import corpora
from clsviz.corpora import Corpus, Preview
from clsviz.settings import Reading, Segmentation, printable

LABELS = {
    Reading.AUTO: "Detected",
    Reading.LINES: "One text per line",
    Reading.PARAGRAPHS: "Wrapped paragraphs",
}
"""What each way of reading a text file is called on a control."""


def how(found: Corpus | Preview) -> str:
    """What was taken for a sentence, and what was left out."""
    is_cut = found.selection.segmentation is Segmentation.SENTENCES
    if found.width:
        text = f"Lines are wrapped at about {found.width} characters. They were joined into paragraphs"
        text += ", and those cut into sentences." if is_cut else ", and each paragraph is taken as one sentence."
        if found.n_left_out:
            lines = "1 line was" if found.n_left_out == 1 else f"{found.n_left_out:,} lines were"
            text += f" {lines} left out, such as headings, lists and verse."
        return text
    column = printable(found.selection.column)
    texts = f"Each text in its column “{column}”" if column else "Each line"
    return f"{texts} was cut into sentences." if is_cut else f"{texts} is taken as one sentence."


def counted(preview: Preview) -> str:
    """How many sentences a file holds, or its beginning."""
    n = len(preview.sentences)
    sentences = "1 sentence" if n == 1 else f"{n:,} sentences"
    if preview.is_whole:
        return sentences
    return f"{sentences} in the first {sum(map(len, preview.sentences)) / 1e6:.1f} MB of its text"


def notes(corpus: Corpus) -> list[str]:
    """How a corpus was read, if it is made from a file, for a command to report."""
    name, n = corpus.selection.corpus, corpus.n_sentences
    if not (corpora.is_file(name) or corpora.is_upload(name)):
        return []
    return [f"{printable(corpus.label)}: {how(corpus)} {'1 sentence' if n == 1 else f'{n:,} sentences'}."]
