"""Where datasets are read: on this machine only, or on the Hugging Face Hub as well."""

from collections.abc import Callable
from pathlib import Path

from clsviz import hub
from clsviz.corpora.datasets.declared import list_dataset
from clsviz.corpora.datasets.listing import Listing, forget_listing, keep_listing, load_listing
from clsviz.corpora.datasets.reading import Reader
from clsviz.corpora.datasets.remote_file import RemoteFile
from clsviz.corpora.datasets.rounds import Limits
from clsviz.corpora.datasets.split import Split
from clsviz.corpora.datasets.storage import NotKeptError
from clsviz.errors import CorpusError
from clsviz.hub import File
from clsviz.progress import Progress
from clsviz.settings import printable


class Offline:
    """Reads only what earlier runs kept in `folder`; whatever else is needed raises NotKeptError."""

    def __init__(self, folder: Path, limits: Limits | None = None) -> None:
        self._folder = folder
        self._limits = limits or Limits()

    def listing(self, repo: str, revision: str, progress: Progress) -> Listing:
        """What the dataset declares at `revision`; "" is its main branch."""
        kept = load_listing(self._folder, repo, revision)
        return kept or self._fetch_listing(repo, revision, progress)

    def split(self, listing: Listing, configuration: str, split: str) -> Split:
        """A split, nothing of it read yet; "" is the dataset's default.

        Raises CorpusError where there is no such configuration or split.
        """
        configuration, split = listing.choose(configuration, split)
        reader = self._reader(listing, listing.splits[configuration][split])
        return Split(listing, configuration, split, self._folder, self._limits, reader)

    def forget(self, repo: str, revision: str) -> None:
        """Forget what the dataset declared at `revision`, so that the Hub is asked again."""
        forget_listing(self._folder, repo, revision)

    def _fetch_listing(self, repo: str, revision: str, progress: Progress) -> Listing:
        raise NotKeptError

    def _reader(self, listing: Listing, files: list[File]) -> Reader | None:
        return None


class Online(Offline):
    """Reads what earlier runs kept in `folder`, and fetches the rest from the Hub; raises CorpusError where it cannot.

    open_file: opens a file of a dataset for reading.
    """

    def __init__(
        self,
        folder: Path,
        limits: Limits | None = None,
        open_file: Callable[[Listing, File], RemoteFile] = RemoteFile,
    ) -> None:
        super().__init__(folder, limits)
        self._open_file = open_file

    def _fetch_listing(self, repo: str, revision: str, progress: Progress) -> Listing:
        if not hub.is_id(repo):
            raise CorpusError(
                f"“{printable(repo)}” is not the name of a dataset. Give an id from the Hugging Face Hub, as in "
                "owner/name."
            )
        if revision and not hub.is_revision(revision):
            raise CorpusError(
                f"{repo} has no revision “{printable(revision)}”. Name a branch, a tag or a full commit after the @."
            )
        listing = list_dataset(repo, revision, progress)
        for name in {revision, listing.commit}:
            keep_listing(self._folder, repo, name, listing)
        return listing

    def _reader(self, listing: Listing, files: list[File]) -> Reader | None:
        return Reader(listing, files, self._limits, self._open_file)
