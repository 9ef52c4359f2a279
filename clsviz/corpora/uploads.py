"""Files that visitors upload: kept, and found again, by their content."""

import hashlib
import io
import json
import shutil
from pathlib import Path

from clsviz.atomic import new_file
from clsviz.corpora import formats
from clsviz.errors import CorpusError


def keep_upload(content: io.BytesIO | io.BufferedReader, file_name: str, folder: Path) -> str:
    """Keep an uploaded file in `folder`, and return the name of the corpus that it is.

    Raises CorpusError where it holds no text or is of no known format.
    """
    content.seek(0)
    name = upload_name(hashlib.file_digest(content, "sha256").hexdigest(), formats.suffix(file_name))
    with new_file(folder / name) as temporary:
        content.seek(0)
        with temporary.open("wb") as file:
            shutil.copyfileobj(content, file)
        table = formats.open_table(temporary, file_name)  # or it is not kept
        next(table.texts())
    with new_file(folder / f"{name}.json") as temporary:
        temporary.write_text(json.dumps({"file_name": file_name}))
    return name


def upload_label(name: str, folder: Path) -> str:
    """The name of the file that was uploaded as `name`; raises CorpusError where it is not kept in `folder`."""
    try:
        if not (folder / name).is_file():
            raise FileNotFoundError
        return str(json.loads((folder / f"{name}.json").read_bytes())["file_name"])
    except (OSError, ValueError, LookupError, TypeError):
        raise CorpusError(f"The uploaded corpus “{name}” is not kept here. Upload its file again.") from None


def upload_name(digest: str, suffix: str) -> str:
    return f"upload-{short_digest(digest, suffix)}"


def short_digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
