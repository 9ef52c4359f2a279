from .drawn import REDRAWN, drawn, encoder_of, identified
from .estimate import GPU_RATE, LOAD_SECONDS, RATE_OF_VECTORS, Cost, Machine, Plan, gigabytes_of
from .extraction import (
    AUDIT_SIZE,
    Extraction,
    Found,
    kind_of_norms,
    measurement_key,
    plan,
    planned,
    state_of_files,
)
from .housekeeping import Housekeeping
from .imports import Import, import_rows, list_imports
from .job import Job, State, Steps, Watcher
from .queue import FREE_SECONDS, Analysis, JobQueue, Lane, MeasuringJob
from .share import Share, Worker
from .showcase import SHOWCASE, Origin, measure_showcase, origin
from .texts import ModelVectors, PooledTexts, measure_altered, measure_texts, measure_untrained
from .worker_process import Encoders, RemoteEncoders, WorkerLostError

__all__ = [
    "AUDIT_SIZE",
    "FREE_SECONDS",
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
    "ModelVectors",
    "Origin",
    "Plan",
    "PooledTexts",
    "RemoteEncoders",
    "Share",
    "State",
    "Steps",
    "Watcher",
    "Worker",
    "WorkerLostError",
    "drawn",
    "encoder_of",
    "gigabytes_of",
    "identified",
    "import_rows",
    "kind_of_norms",
    "list_imports",
    "measure_altered",
    "measure_showcase",
    "measure_texts",
    "measure_untrained",
    "measurement_key",
    "origin",
    "plan",
    "planned",
    "state_of_files",
]
