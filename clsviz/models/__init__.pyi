from . import files
from .catalogue import MODELS
from .names import UNTRAINED, Name, is_folder, label
from .resolution import NotDownloadedError, download_megabytes, resolve
from .weights import Weights, n_parameters

__all__ = [
    "MODELS",
    "UNTRAINED",
    "Name",
    "NotDownloadedError",
    "Weights",
    "download_megabytes",
    "files",
    "is_folder",
    "label",
    "n_parameters",
    "resolve",
]
