"""Sentences to measurements: tokenizer, model and device. The only folder that uses torch."""

import os

# Lets PyTorch's threads sleep while they wait for each other: otherwise they burn a core that
# another program may need. It is read when PyTorch is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
