import re
from dataclasses import replace

import numpy as np
from support.prose import found_of, shown_of
from support.snapshots import assert_said

from clsviz import words
from clsviz.experiment import Experiment
from clsviz.settings import Lengths, Overlay

LENGTHS = np.random.default_rng(1).integers(3, 60, 300)
SHOWN = shown_of(LENGTHS, (8 + 0.05 * LENGTHS + np.random.default_rng(0).standard_normal(300)).astype(np.float32))
UPLOAD = "upload-0123456789abcdef0123456789abcdef"


def test_a_caption_says_what_is_drawn_and_no_more() -> None:
    def caption(*overlays: Overlay, shown: object = SHOWN, n: int | None = None, **settings: object) -> str:
        experiment = Experiment(**settings)  # type: ignore[arg-type]
        return words.sharing.caption(experiment, found_of(experiment), shown, list(overlays), n)  # type: ignore[arg-type]

    few = replace(SHOWN, clusters=np.arange(300) % 99)
    open_ended = shown_of(np.array([5] * 20 + [9]), np.append(np.linspace(7, 8, 20), 9))
    assert_said(
        "caption",
        {
            "medians and curves": caption(Overlay.MEDIANS, Overlay.CURVES),
            "too few for curves": caption(Overlay.MEDIANS, Overlay.CURVES, shown=few),
            "ranges, shuffled": caption(Overlay.RANGES, lengths=Lengths.SHUFFLED),
            "a density": caption(n=5_000),
            "a line without a band": caption(shown=open_ended),
            "without a line": caption(shown=shown_of(np.full(20, 6), np.linspace(7, 8, 20))),
            "an upload": caption(corpus=UPLOAD),
            "files of this machine": caption(
                model="untrained:/home/someone/models/tiny", corpus="/home/someone/notes.txt"
            ),
        },
    )


def test_the_entry_is_one_that_bibtex_can_read_and_has_a_command_that_works() -> None:
    odd = Experiment(model="owner/a_model#1", corpus="100%_of{it}")
    entry = words.sharing.bibtex(odd, found_of(odd))
    bare = re.sub(r"\\[&%$#_{}]|\\\w+\{\}", "", entry)
    assert bare.count("{") == bare.count("}")
    assert not re.search(r"[%#&~^]", bare)
    upload = Experiment(corpus=UPLOAD)
    private = Experiment(model="/home/someone/models/tiny", corpus="/home/someone/secret/notes.txt")
    quoted = Experiment(model="/a folder/it's", sample_size=50, layer=0)
    assert_said(
        "bibtex",
        {
            "odd names": entry,
            "of probes": words.sharing.bibtex(odd, found_of(odd), "probe"),
            "an upload": words.sharing.bibtex(upload, found_of(upload)),
            "files of this machine": words.sharing.bibtex(private, found_of(private)),
            "commands": [words.command(one, found_of(one)) for one in (Experiment(), quoted, upload)],
        },
    )
