"""`clsviz import`: vectors or norms of one's own, with their texts, measured like any corpus."""

import argparse
import os
import shlex
from pathlib import Path
from urllib.parse import urlencode

from clsviz import api, corpora, measuring, words
from clsviz.cli import output


def run(options: argparse.Namespace) -> int:
    """Import, print what shows it; the exit status. Raises ClsvizError."""
    path = Path(os.path.expanduser(options.file))
    file = corpora.open_vectors(path)
    texts = Path(os.path.expanduser(options.texts)) if options.texts else None
    chosen = file.decided(corpora.Chosen(options.text, options.vectors, options.norms, options.tokens, texts))
    store = measuring.Store(options.store)
    label = options.name or words.imported.label_of(path.name)
    with api.Bar() as bar:
        found = measuring.import_rows(file.rows(chosen), file.n_rows(chosen), label, store, bar)
    if options.json:
        output.print_json({"model": found.model, "corpus": found.corpus, "n": found.n, "width": found.width or None})
        return 0
    print(words.imported.said(found))
    flags = [f"{flag} {shlex.quote(value)}" for flag, value in found.experiment.to_flags().items()]
    if options.store:
        flags.append(f"--store {shlex.quote(str(options.store))}")
    print(f"\nIn numbers:\n  clsviz measure {' '.join(flags)}")
    print(f"\nOn the page, behind its address:\n  ?{urlencode(found.experiment.to_query())}")
    if options.store:
        print(f"once it is started with CLSVIZ_STORE={shlex.quote(str(options.store))}")
    return 0
