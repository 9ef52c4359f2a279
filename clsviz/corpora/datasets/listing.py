"""What a text dataset declares: its configurations, its splits, and their Parquet files."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from clsviz.atomic import new_file
from clsviz.errors import CorpusError
from clsviz.hub import File
from clsviz.settings import printable

_MAX_LISTED = 12


_TRAINING = ("train", "partial-train")
"""The splits to prefer; of a large dataset the Hub converts only a part, and names it so."""


_SCHEMA = 2
"""Increase it when the meaning of what is kept changes."""


@dataclass(frozen=True)
class Listing:
    """What a dataset declares at one commit.

    splits: the Parquet files of every split of every configuration. default: the configuration to use if the user names
    none. is_conversion: whether the files are the Hub's conversion; `commit` is then that of the conversion.
    """

    repo: str
    commit: str
    splits: dict[str, dict[str, list[File]]]
    default: str
    is_conversion: bool

    def choose(self, configuration: str, split: str) -> tuple[str, str]:
        """The configuration and split with these names, "" being the default; raises CorpusError if there is none."""
        configuration = configuration or self.default
        if configuration not in self.splits:
            raise CorpusError(
                f"{self.repo} has no configuration “{printable(configuration)}”. Choose {listed(self.splits)}."
            )
        splits = self.splits[configuration]
        split = split or next((name for name in _TRAINING if name in splits), next(iter(splits)))
        if split not in splits:
            raise CorpusError(
                f"{self.repo} has no split “{printable(split)}” in {printable(configuration)}. Choose {listed(splits)}."
            )
        return configuration, split


def keep_listing(folder: Path, repo: str, revision: str, listing: Listing) -> None:
    """Keep in `folder` what a dataset declares at `revision`."""
    content = json.dumps(asdict(listing)).encode()
    with new_file(_path(folder, repo, revision)) as temporary:
        temporary.write_bytes(hashlib.sha256(content).hexdigest().encode() + b"\n" + content)


def load_listing(folder: Path, repo: str, revision: str) -> Listing | None:
    """The listing kept in `folder`; None if there is none or it is damaged."""
    try:
        digest, _, content = _path(folder, repo, revision).read_bytes().partition(b"\n")
        if digest.decode() != hashlib.sha256(content).hexdigest():
            return None
        kept = json.loads(content)
        kept["splits"] = {
            configuration: {split: [File(**file) for file in files] for split, files in splits.items()}
            for configuration, splits in kept["splits"].items()
        }
        return Listing(**kept)
    except (OSError, ValueError, TypeError, LookupError, AttributeError):
        return None


def forget_listing(folder: Path, repo: str, revision: str) -> None:
    """Delete the listing kept in `folder`, if there is one."""
    _path(folder, repo, revision).unlink(missing_ok=True)


def _path(folder: Path, repo: str, revision: str) -> Path:
    return folder / f"listing-{hashlib.sha256(f'{_SCHEMA} {repo}@{revision}'.encode()).hexdigest()[:32]}.json"


def listed(names: Iterable[str]) -> str:
    """Names from outside, as many as fit into a message."""
    found = [printable(name)[:60] for name in names]
    more = len(found) - _MAX_LISTED
    return ", ".join(found[:_MAX_LISTED]) + (f" or one of {more:,} more" if more > 0 else "")
