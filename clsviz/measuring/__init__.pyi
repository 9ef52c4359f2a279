from .encoders import Encoders
from .estimate import LOAD_SECONDS, RATE_OF_VECTORS, Cost
from .extraction import AUDIT_SIZE, Extraction
from .found import Found, measurement_key
from .job import Job, State, Steps
from .jobs import Analysis, Jobs, MeasuringJob
from .store import Key, Store, part_stop

__all__ = [
    "AUDIT_SIZE",
    "LOAD_SECONDS",
    "RATE_OF_VECTORS",
    "Analysis",
    "Cost",
    "Encoders",
    "Extraction",
    "Found",
    "Job",
    "Jobs",
    "Key",
    "MeasuringJob",
    "State",
    "Steps",
    "Store",
    "measurement_key",
    "part_stop",
]
