"""Writes the corpus that comes with clsviz: ``python -m clsviz.sources.shipped``, run with the Python it is of."""

import sys

from clsviz.progress import Progress
from clsviz.sources import docstrings, local_files
from clsviz.sources.catalogue import CORPORA, Shipped, python_library


def main() -> None:
    """Write the file, and say what it holds."""
    if sys.version_info[:2] != (3, 11):
        sys.exit("The corpus is of Python 3.11: run this with it.")
    corpus = CORPORA["python-docs"]
    assert isinstance(corpus, Shipped)
    sentences = docstrings.gather(python_library(), Progress())
    about = local_files.write_sentences([sentences], corpus.file)
    print(f"{about.n_sentences:,} sentences of Python {sys.version.split()[0]}, fingerprint {about.fingerprint}")


if __name__ == "__main__":
    main()
