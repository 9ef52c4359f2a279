"""Files that visitors upload: kept under names made from their content, and deleted if that is wanted.

<folder>/upload-<digest>                    the file
         upload-<digest>.json               what it was called; its time is when somebody last looked at the upload
         upload-<digest>-<digest>.parquet   the sentences that were read from it
"""

import contextlib
import hashlib
import io
import json
import shutil
import time
from pathlib import Path

from clsviz.atomic import mark_used, new_file, read_file, write_file
from clsviz.errors import CorpusError
from clsviz.settings import printable
from clsviz.sources import files

UPLOAD, UPLOAD_LENGTH = "upload-", 39
"""How the names of uploads, and of what is made of them, begin; and how long an upload's is."""

IN_MEMORY = "texts in memory.jsonl"
"""The file that a list of texts is kept in; people read its name without the ending."""


def keep_upload(
    content: io.BytesIO | io.BufferedReader | io.BufferedRandom,
    file_name: str,
    folder: Path,
    limits: files.Limits | None = None,
) -> str:
    """Keep an uploaded file in `folder`, and return the name of the corpus that it makes.

    Raises CorpusError if it holds no text, is in no known format, or is or holds more than `limits` allow.
    """
    from clsviz.sources import tables

    limits = limits or files.Limits()
    files.check_size(content.seek(0, io.SEEK_END), file_name, limits)
    content.seek(0)
    name = upload_name(hashlib.file_digest(content, "sha256").hexdigest(), files.suffix(file_name))
    with new_file(folder / name) as temporary:
        content.seek(0)
        with temporary.open("wb") as file:
            shutil.copyfileobj(content, file)
        tables.check_whole(temporary, file_name, limits)  # if this or what follows raises, the file is not kept
        table = tables.open_table(temporary, file_name, limits)
        next(table.numbered_texts())
    write_file(folder / f"{name}.json", json.dumps({"file_name": file_name}).encode())
    return name


def upload_label(name: str, folder: Path) -> str:
    """The name that the file uploaded as `name` had; raises CorpusError if it is not kept in `folder`."""
    try:
        if not (folder / name).is_file():
            raise FileNotFoundError
        return str(json.loads(read_file(folder / f"{name}.json"))["file_name"])
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        raise not_here(name) from None


def not_here(name: str) -> CorpusError:
    """The error for an upload, by its name in a link, that is not kept."""
    return CorpusError(
        f"“{printable(name)}” is an uploaded file that is not, or no longer, on this server. Upload the file again."
    )


def look_at_upload(name: str, folder: Path) -> None:
    """Note that somebody looks at an upload now."""
    mark_used(folder / f"{name}.json")


def delete_uploads(folder: Path, unseen_seconds: float) -> list[str]:
    """Delete the uploads that nobody has looked at for so long, with the sentences read from them; returns their names.

    What cannot be deleted is tried again by the next call.
    """
    deleted = []
    for name in {path.name[:UPLOAD_LENGTH] for path in folder.glob(f"{UPLOAD}*")}:
        about, file = folder / f"{name}.json", folder / name
        with contextlib.suppress(OSError):
            if time.time() - (about if about.exists() else file).stat().st_mtime > unseen_seconds:
                for path in sorted(folder.glob(f"{name}*"), key=lambda path: path == about):  # that one last
                    path.unlink(missing_ok=True)
                deleted.append(name)
    return deleted


def upload_name(digest: str, suffix: str) -> str:
    """The name of the corpus made from an uploaded file with this SHA-256 and ending."""
    return f"{UPLOAD}{short_digest(digest, suffix)}"


def short_digest(*parts: str) -> str:
    """A digest of several texts, 32 hexadecimal digits."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
