from .drawn import REDRAWN, encoder_of, identified
from .estimate import LOAD_SECONDS, RATE_OF_VECTORS, Cost, Machine, gigabytes_of
from .extraction import Extraction, measure_altered, measure_texts, measure_untrained
from .housekeeping import Housekeeping
from .imports import Import, import_rows, list_imports
from .job import Job, State, Steps
from .measurement import AUDIT_SIZE, Found, measurement_key
from .plan import GPU_RATE, Plan, plan, planned
from .queue import Analysis, JobQueue, Lane, MeasuringJob
from .share import Share, Worker, measure_parts
from .showcase import SHOWCASE, Origin, measure_showcase, origin
from .worker_process import Encoders, RemoteEncoders, WorkerLostError

__all__ = [
    "AUDIT_SIZE",
    "GPU_RATE",
    "LOAD_SECONDS",
    "RATE_OF_VECTORS",
    "REDRAWN",
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
    "Worker",
    "WorkerLostError",
    "encoder_of",
    "gigabytes_of",
    "identified",
    "import_rows",
    "list_imports",
    "measure_altered",
    "measure_parts",
    "measure_showcase",
    "measure_texts",
    "measure_untrained",
    "measurement_key",
    "origin",
    "plan",
    "planned",
]
