from . import datasets, docstrings, formats, kept, segmentation
from .catalogue import (
    CORPORA,
    Dataset,
    Source,
    download_megabytes,
    is_built_in,
    is_file,
    is_in_catalogue,
    is_on_hub,
    is_upload,
    label,
)
from .drawing import Sample, draw
from .opening import Corpus, NotDownloadedError, build_seconds, open_corpus
from .uploads import keep_upload, upload_label

__all__ = [
    "CORPORA",
    "Corpus",
    "Dataset",
    "NotDownloadedError",
    "Sample",
    "Source",
    "build_seconds",
    "datasets",
    "docstrings",
    "download_megabytes",
    "draw",
    "formats",
    "is_built_in",
    "is_file",
    "is_in_catalogue",
    "is_on_hub",
    "is_upload",
    "keep_upload",
    "kept",
    "label",
    "open_corpus",
    "segmentation",
    "upload_label",
]
