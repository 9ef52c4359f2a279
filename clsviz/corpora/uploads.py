"""Files that visitors upload: kept under names made from their content."""

import hashlib
import io
import json
import shutil
from pathlib import Path

from clsviz.atomic import new_file
from clsviz.corpora import formats
from clsviz.errors import CorpusError
from clsviz.settings import printable


def keep_upload(content: io.BytesIO | io.BufferedReader, file_name: str, folder: Path) -> str:
    """Keep an uploaded file in `folder`, and return the name of the corpus that it makes.

    Raises CorpusError if it holds no text or is in no known format.
    """
    content.seek(0)
    name = upload_name(hashlib.file_digest(content, "sha256").hexdigest(), formats.suffix(file_name))
    with new_file(folder / name) as temporary:
        content.seek(0)
        with temporary.open("wb") as file:
            shutil.copyfileobj(content, file)
        table = formats.open_table(temporary, file_name)  # if this raises, the file is not kept
        next(table.texts())
    with new_file(folder / f"{name}.json") as temporary:
        temporary.write_text(json.dumps({"file_name": file_name}))
    return name


def upload_label(name: str, folder: Path) -> str:
    """The name that the file uploaded as `name` had; raises CorpusError if it is not kept in `folder`."""
    try:
        if not (folder / name).is_file():
            raise FileNotFoundError
        return str(json.loads((folder / f"{name}.json").read_bytes())["file_name"])
    except (OSError, ValueError, LookupError, TypeError):
        raise not_here(name) from None


def not_here(name: str) -> CorpusError:
    """The error for an upload, by its name in a link, that is not kept."""
    return CorpusError(
        f"“{printable(name)}” is an uploaded file that is not, or no longer, on this server. Upload the file again."
    )


def upload_name(digest: str, suffix: str) -> str:
    """The name of the corpus made from an uploaded file with this SHA-256 and ending."""
    return f"upload-{short_digest(digest, suffix)}"


def short_digest(*parts: str) -> str:
    """A digest of several texts, 32 hexadecimal digits."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
