from .cache import cached_folder, is_known_to_lack, note_absence, remember
from .card import read_card
from .download import check_room, fetch
from .failures import NoRevisionError, reporting
from .names import COMMIT, is_revision, shortened, suggestion
from .repository import File, Repository, is_id, open_repository

__all__ = [
    "COMMIT",
    "File",
    "NoRevisionError",
    "Repository",
    "cached_folder",
    "check_room",
    "fetch",
    "is_id",
    "is_known_to_lack",
    "is_revision",
    "note_absence",
    "open_repository",
    "read_card",
    "remember",
    "reporting",
    "shortened",
    "suggestion",
]
