from . import files
from .catalogue import MODELS
from .imported import Imported, as_counted, check_label
from .names import UNTRAINED, Name, is_folder, label
from .on_hub import NotDownloadedError, download_megabytes
from .resolution import fetch, find
from .weights import Weights, n_parameters

__all__ = [
    "MODELS",
    "UNTRAINED",
    "Imported",
    "Name",
    "NotDownloadedError",
    "Weights",
    "as_counted",
    "check_label",
    "download_megabytes",
    "fetch",
    "files",
    "find",
    "is_folder",
    "label",
    "n_parameters",
]
