"""How the threshold of near-duplicates trades sentences from a template against copies with a word changed.

python -m benchmarks.near_duplicates
"""

import numpy as np
import pandas as pd

from clsviz.sources import catalogue, near_duplicates

PARTS = [
    ["Anna", "Ben", "Carla", "David", "Emma", "Frank"],
    ["saw", "sold", "painted", "bought"],
    ["the", "a"],
    ["big", "small", "old", "new"],
    ["red", "blue", "green", "grey"],
    ["house", "car", "boat", "dog"],
    ["near the river", "by the old mill in the quiet valley on a cold and windy winter evening"],
]

LENGTHS = ((10, 15), (15, 25), (25, 40), (40, 200))
"""Words from and to, of the sentences of which one word is changed."""


def from_template(n: int, choose: np.random.Generator) -> list[str]:
    """Different sentences that differ in single words."""
    made = (" ".join(part[choose.integers(len(part))] for part in PARTS) for _ in range(2000))
    return list(dict.fromkeys(made))[:n]


def main() -> None:
    """Print the table that docs/method.md has."""
    choose = np.random.default_rng(0)
    made = from_template(800, choose)
    shipped = catalogue.CORPORA["python-docs"]
    assert isinstance(shipped, catalogue.Shipped)
    docstrings = pd.read_parquet(shipped.file).iloc[:, 0].tolist()
    copies = {}
    for low, high in LENGTHS:
        texts = [text for text in dict.fromkeys(docstrings) if low <= len(text.split()) < high][:500]
        changed = [text.split() for text in texts]
        for words in changed:
            words[choose.integers(len(words))] = "another"
        copies[low, high] = texts, [" ".join(words) for words in changed]
    print("least shared", f"of {len(made)}", *copies, f"groups of {len(docstrings):,}", sep=" | ")
    for least in (0.5, 0.6, 0.7, 0.8, 0.9, 0.95):
        near_duplicates.LEAST_SHARED = least
        near_duplicates._BANDS, near_duplicates._ROWS = (20, 4) if least < 0.9 else (10, 5)  # to find the pairs as well
        separate = len(set(near_duplicates.clusters_of(made)))
        joined = []
        for texts, changed_texts in copies.values():
            groups = near_duplicates.clusters_of(texts + changed_texts)
            joined.append(f"{np.mean(groups[: len(texts)] == groups[len(texts) :]):.0%}")
        print(least, separate, *joined, len(set(near_duplicates.clusters_of(docstrings))), sep=" | ")


if __name__ == "__main__":
    main()
