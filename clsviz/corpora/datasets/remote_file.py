"""A file on the Hub that is fetched only as far as it is read."""

import io

from huggingface_hub import constants, hf_hub_url, hf_raise_for_status
from huggingface_hub.utils import build_hf_headers, http_backoff  # type: ignore[attr-defined]

from clsviz import hub
from clsviz.corpora.datasets.listing import Listing
from clsviz.hub import File


class RemoteFile(io.RawIOBase):
    """A file on the Hub that is fetched only as far as it is read; n_bytes: how much that was.

    The file system of huggingface_hub does the same, but first asks for the dataset again, and refuses one without an
    owner.
    """

    def __init__(self, listing: Listing, file: File) -> None:
        self.n_bytes = 0
        self._listing = listing
        self._file = file
        self._position = 0

    def readable(self) -> bool:  # noqa: D102
        return True

    def seekable(self) -> bool:  # noqa: D102
        return True

    def tell(self) -> int:  # noqa: D102
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:  # noqa: D102
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._file.size}[whence]
        self._position = max(0, start + offset)
        return self._position

    def read(self, size: int | None = -1, /) -> bytes:
        """The next `size` bytes, fewer if the file ends before; raises CorpusError if they do not arrive."""
        stop = self._file.size if size is None or size < 0 else min(self._position + size, self._file.size)
        if stop <= self._position:
            return b""
        with hub.reporting(self._listing.repo, "dataset", self._listing.commit):
            found = self._fetch(self._position, stop)
        self._position = stop
        self.n_bytes += len(found)
        return found

    def _fetch(self, start: int, stop: int) -> bytes:
        url = hf_hub_url(
            self._listing.repo, self._file.path, repo_type="dataset", revision=self._listing.commit,
            endpoint=constants.ENDPOINT,
        )  # fmt: skip
        headers = {**build_hf_headers(), "Range": f"bytes={start}-{stop - 1}", "Accept-Encoding": "identity"}
        response = http_backoff("GET", url, headers=headers, timeout=constants.HF_HUB_DOWNLOAD_TIMEOUT)
        hf_raise_for_status(response)
        found: bytes = response.content
        if len(found) != stop - start:
            raise OSError(f"{len(found):,} bytes arrived instead of {stop - start:,}")
        return found
