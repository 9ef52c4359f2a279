"""Makes what links to pages show: a picture, the question and the shipped verdict.

python -m benchmarks.cards: replaces clsviz/ui/pictures by the answers of this machine.
"""

import io
import json
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image

import clsviz
from clsviz import api, figures
from clsviz.figures.image import DOTS, translate
from clsviz.questions import PAGES
from clsviz.results import typed
from clsviz.results.result import Result
from clsviz.settings import Experiment

PICTURES = Path(str(clsviz.__file__)).parent / "ui" / "pictures"

WIDTH, HEIGHT, COLOURS = 1200, 630, 64

EXAMPLES: dict[str, dict[str, Any]] = {
    "probe": {"random_weights": True, "recall": True},
}
"""Settings of a page that a visitor chooses, in what it shows at first."""


def main() -> None:
    """Write what links show."""
    PICTURES.mkdir(exist_ok=True)
    cards = {}
    with tempfile.TemporaryDirectory() as store:
        answers = answers_in(Path(store))
    for name, result in answers.items():
        (PICTURES / f"{name}.png").write_bytes(draw(result))
        cards[name] = {"question": result.question, "verdict": result.verdict}
        print(f"{name}: {result.question} {result.verdict}")
    text = json.dumps(cards, indent=1, ensure_ascii=False)
    (PICTURES / "cards.json").write_text(f"{text}\n", "utf-8")


def answers_in(store: Path) -> dict[str, Result]:
    """The answer of every page with its default settings, by an empty store."""
    answers = {
        path: getattr(clsviz, question.function)(**EXAMPLES.get(question.command, {}), store=store)
        for path, question in PAGES.items()
        if question.function
    }
    return answers | of_example(store)


def of_example(store: Path) -> dict[str, Result]:
    """The answers on the example sentence: its place among the corpus, and the model inside."""
    norms = clsviz.measure(store=store)
    traced = api.trace(store=store)
    return {
        "sentence": typed.result(traced, norms.answered, norms, Experiment()),
        "model": api.anatomy(store=store),
    }


def draw(result: Result) -> bytes:
    """The picture of a result as a PNG for links."""
    image = translate(figures.DRAW[result.kind](result), WIDTH, HEIGHT)
    drawn, packed = io.BytesIO(), io.BytesIO()
    image.savefig(drawn, format="png", dpi=DOTS)
    Image.open(drawn).convert("RGB").quantize(COLOURS).save(packed, "png", optimize=True)
    return packed.getvalue()


if __name__ == "__main__":
    main()
