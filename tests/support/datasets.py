"""Datasets on the stand-in for the Hub: how they are written, published and drawn from."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from clsviz.progress import Progress
from clsviz.sources.hub_dataset import Draw, Split
from clsviz.sources.hub_listing import Listing, open_listing
from clsviz.sources.hub_rounds import Limits
from support.hub import Hub

TEXTS = [f"Sentence number {index}." for index in range(1000)]
SMALL = Limits(round_texts=100)


def write(path: Path, texts: list[str] | pa.Table, rows: int = 20) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    table = texts if isinstance(texts, pa.Table) else pa.table({"id": range(len(texts)), "text": texts})
    pq.write_table(table, path, row_group_size=rows)
    return path


def publish(hub: Hub, repo: str, folder: Path, texts: list[str] | pa.Table = TEXTS, rows: int = 20) -> str:
    """A dataset of one Parquet file; the commit."""
    write(folder / "data" / "train.parquet", texts, rows)
    return hub.add(repo, folder, kind="dataset")


def listing_of(repo: str, kept: Path, revision: str = "") -> Listing:
    return open_listing(kept, repo, revision, "", Progress(), online=True)


def opened(repo: str, kept: Path, configuration: str = "", split: str = "", limits: Limits | None = None) -> Split:
    listing = open_listing(kept, repo, "", configuration, Progress(), online=True)
    return Split(listing, configuration, split, kept, limits, online=True)


def draw(
    split: Split,
    size: int = 10**6,
    seed: int = 0,
    *,
    column: str = "text",
    cut: bool = False,
    progress: Progress | None = None,
) -> Draw:
    return split.draw(size, seed, column, progress or Progress(), cut=cut)


def declared(listing: Listing) -> dict[str, dict[str, list[str]]]:
    return {
        configuration: {split: [file.path for file in files] for split, files in splits.items()}
        for configuration, splits in listing.splits.items()
    }


def ranges(hub: Hub, start: int = 0) -> list[tuple[str, str]]:
    """What was asked for of the files, and came."""
    return [
        (request.path, request.range)
        for request in hub.requests[start:]
        if request.path.endswith(".parquet") and request.status == 206
    ]


def write_script(folder: Path, repo: str) -> Path:
    folder.mkdir()
    (folder / f"{repo.rpartition('/')[2]}.py").write_text("raise SystemExit('it ran')")
    return folder


def columns_of(hub: Hub, repo: str, folder: Path, table: pa.Table) -> dict[str, float]:
    publish(hub, repo, folder / "own", table)
    return opened(repo, folder / "kept").columns(Progress())
