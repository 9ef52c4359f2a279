"""Sentences to measurements: tokenizer, model and device. The only folder that uses torch."""

import os

import lazy_loader

# Let PyTorch's threads sleep while they wait for each other: libgomp, which its wheels for Linux bring along, has them
# burn a core that somebody else may need, unless told otherwise before it is loaded.
if "GOMP_SPINCOUNT" not in os.environ:
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
