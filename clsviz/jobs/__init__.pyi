from .estimate import GPU_RATE, LOAD_SECONDS, RATE_OF_VECTORS, Cost, Machine, Plan, gigabytes_of, plan, planned
from .extraction import AUDIT_SIZE, Extraction, Found, measure_altered, measure_texts, measurement_key
from .housekeeping import Housekeeping
from .imports import Import, import_rows, list_imports
from .job import Job, State, Steps, Watcher
from .queue import Analysis, JobQueue, Lane, MeasuringJob
from .share import Share, Worker
from .showcase import SHOWCASE, Origin, measure_showcase, origin
from .worker_process import Encoders, RemoteEncoders, WorkerLostError

__all__ = [
    "AUDIT_SIZE",
    "GPU_RATE",
    "LOAD_SECONDS",
    "RATE_OF_VECTORS",
    "SHOWCASE",
    "Analysis",
    "Cost",
    "Encoders",
    "Extraction",
    "Found",
    "Housekeeping",
    "Import",
    "Job",
    "JobQueue",
    "Lane",
    "Machine",
    "MeasuringJob",
    "Origin",
    "Plan",
    "RemoteEncoders",
    "Share",
    "State",
    "Steps",
    "Watcher",
    "Worker",
    "WorkerLostError",
    "gigabytes_of",
    "import_rows",
    "list_imports",
    "measure_altered",
    "measure_showcase",
    "measure_texts",
    "measurement_key",
    "origin",
    "plan",
    "planned",
]
