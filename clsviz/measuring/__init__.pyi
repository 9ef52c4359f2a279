from .encoders import Encoders
from .estimate import LOAD_SECONDS, RATE_OF_VECTORS, Cost
from .extraction import AUDIT_SIZE, Extraction
from .found import Found, asked
from .jobs import Job, Jobs, State
from .store import Key, Store, part_stop
from .tasks import Task, Tasks

__all__ = [
    "AUDIT_SIZE",
    "LOAD_SECONDS",
    "RATE_OF_VECTORS",
    "Cost",
    "Encoders",
    "Extraction",
    "Found",
    "Job",
    "Jobs",
    "Key",
    "State",
    "Store",
    "Task",
    "Tasks",
    "asked",
    "part_stop",
]
