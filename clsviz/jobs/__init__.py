"""Jobs: what is measured and computed, in the background and in turns."""

from clsviz.jobs.drawn import REDRAWN, drawn, encoder_of, identified
from clsviz.jobs.estimate import GPU_RATE, LOAD_SECONDS, RATE_OF_VECTORS, Cost, Machine, Plan, gigabytes_of
from clsviz.jobs.extraction import AUDIT_SIZE, Extraction, Found, kind_of_norms, measurement_key, plan, state_of_files
from clsviz.jobs.housekeeping import Housekeeping
from clsviz.jobs.imports import Import, import_rows, list_imports
from clsviz.jobs.job import Job, State, Watcher
from clsviz.jobs.queue import FREE_SECONDS, Analysis, JobQueue, MeasuringJob
from clsviz.jobs.share import Share, Worker
from clsviz.jobs.texts import SearchVectors, measure_altered, measure_texts, measure_untrained, search_vectors
from clsviz.jobs.worker_process import Encoders, RemoteEncoders, WorkerLostError
from clsviz.store.store import SHOWCASE, origin
