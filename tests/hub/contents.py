"""What repositories of the stand-in hold."""

import io
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from safetensors.numpy import save


def parquet(columns: dict[str, list[Any]], rows: int = 20) -> bytes:
    """A Parquet file with row groups of some rows."""
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file, row_group_size=rows)
    return file.getvalue()


def dataset(n: int = 500, rows: int = 20) -> dict[str, bytes]:
    """A dataset of one file and one split."""
    texts = [f"Sentence number {index}." for index in range(n)]
    return {"data/train-0.parquet": parquet({"id": list(range(n)), "text": texts}, rows)}


def model(**config: object) -> dict[str, bytes]:
    """The files of a model, with weights that nobody loads."""
    return {
        "config.json": json.dumps({"model_type": "bert", **config}).encode(),
        "tokenizer.json": b"{}",
        "model.safetensors": save({"weight": np.zeros(300_000, np.float32)}),
    }
