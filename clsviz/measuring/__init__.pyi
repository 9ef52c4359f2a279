from .analyses import Analysis
from .bucket import Bucket
from .census import Counted, is_kept, take_census
from .encoders import Encoders
from .estimate import LOAD_SECONDS, RATE_OF_VECTORS, Cost, Machine, gigabytes_of
from .eviction import RECENT_SECONDS, clean, evict
from .extraction import Extraction
from .found import Found, measurement_key
from .housekeeping import Housekeeping
from .imports import Import, import_rows, list_imports
from .job import Job, State, Steps
from .jobs import Jobs, MeasuringJob
from .lane import TURN_SECONDS, Place
from .look_up import AUDIT_SIZE
from .outline import read_outline, write_outline
from .part import borders, measure_parts, missing, n_between, part_stop
from .part_file import Key
from .plan import GPU_RATE, Plan, plan, planned
from .showcase import SHOWCASE, Origin, measure_showcase, origin
from .store import Store, is_url
from .texts import measure_altered, measure_texts
from .warming import Wanted, read_wanted
from .worker import Share, Worker

__all__ = [
    "AUDIT_SIZE",
    "GPU_RATE",
    "LOAD_SECONDS",
    "RATE_OF_VECTORS",
    "RECENT_SECONDS",
    "SHOWCASE",
    "TURN_SECONDS",
    "Analysis",
    "Bucket",
    "Cost",
    "Counted",
    "Encoders",
    "Extraction",
    "Found",
    "Housekeeping",
    "Import",
    "Job",
    "Jobs",
    "Key",
    "Machine",
    "MeasuringJob",
    "Origin",
    "Place",
    "Plan",
    "Share",
    "State",
    "Steps",
    "Store",
    "Wanted",
    "Worker",
    "borders",
    "clean",
    "evict",
    "gigabytes_of",
    "import_rows",
    "is_kept",
    "is_url",
    "list_imports",
    "measure_altered",
    "measure_parts",
    "measure_showcase",
    "measure_texts",
    "measurement_key",
    "missing",
    "n_between",
    "origin",
    "part_stop",
    "plan",
    "planned",
    "read_outline",
    "read_wanted",
    "take_census",
    "write_outline",
]
