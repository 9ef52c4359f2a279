from . import docstrings, formats, kept, segmentation
from .alike import LEAST_SHARED, canonical, clusters_of
from .catalogue import (
    CORPORA,
    Dataset,
    Shipped,
    Source,
    download_megabytes,
    is_built_in,
    is_file,
    is_in_catalogue,
    is_of_this_machine,
    is_on_hub,
    is_own,
    is_upload,
    label,
    resembles_upload,
)
from .corpus import Corpus, NotDownloadedError
from .drawing import Sample, fetch_sample, find_sample
from .fields import values_beside
from .local import build_seconds
from .opening import fetch_corpus, find_corpus
from .order import sample_order
from .own_file import place_of
from .own_vectors import Chosen, Rows, VectorFile, checked, open_vectors
from .previewing import Preview, preview
from .task_file import TaskFile, read_task
from .uploads import delete_uploads, keep_upload, look_at_upload, upload_label

__all__ = [
    "CORPORA",
    "LEAST_SHARED",
    "Chosen",
    "Corpus",
    "Dataset",
    "NotDownloadedError",
    "Preview",
    "Rows",
    "Sample",
    "Shipped",
    "Source",
    "TaskFile",
    "VectorFile",
    "build_seconds",
    "canonical",
    "checked",
    "clusters_of",
    "delete_uploads",
    "docstrings",
    "download_megabytes",
    "fetch_corpus",
    "fetch_sample",
    "find_corpus",
    "find_sample",
    "formats",
    "is_built_in",
    "is_file",
    "is_in_catalogue",
    "is_of_this_machine",
    "is_on_hub",
    "is_own",
    "is_upload",
    "keep_upload",
    "kept",
    "label",
    "look_at_upload",
    "open_vectors",
    "place_of",
    "preview",
    "read_task",
    "resembles_upload",
    "sample_order",
    "segmentation",
    "upload_label",
    "values_beside",
]
