from .bucket import Bucket
from .census import Counted, is_kept, take_census
from .estimate import LOAD_SECONDS, RATE_OF_VECTORS, Cost, Machine, gigabytes_of
from .eviction import RECENT_SECONDS, clean, evict
from .extraction import Extraction
from .found import Found, measurement_key
from .housekeeping import Housekeeping
from .imports import Import, import_rows, list_imports
from .job import Job, State, Steps
from .look_up import AUDIT_SIZE
from .outline import read_outline, write_outline
from .part import borders, measure_parts, missing, n_between, part_stop
from .part_file import Key
from .plan import GPU_RATE, Plan, plan, planned
from .queue import Analysis, JobQueue, Lane, MeasuringJob
from .share import Share, Worker
from .showcase import SHOWCASE, Origin, measure_showcase, origin
from .store import Store, is_url
from .texts import measure_altered, measure_texts
from .warming import Wanted, read_wanted
from .worker_process import Encoders, RemoteEncoders, WorkerLostError

__all__ = [
    "AUDIT_SIZE",
    "GPU_RATE",
    "LOAD_SECONDS",
    "RATE_OF_VECTORS",
    "RECENT_SECONDS",
    "SHOWCASE",
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
    "JobQueue",
    "Key",
    "Lane",
    "Machine",
    "MeasuringJob",
    "Origin",
    "Plan",
    "RemoteEncoders",
    "Share",
    "State",
    "Steps",
    "Store",
    "Wanted",
    "Worker",
    "WorkerLostError",
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
