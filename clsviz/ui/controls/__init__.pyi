from . import corpus, errors, model, notes, presets, sample, size, status, view

__all__ = ["corpus", "errors", "model", "notes", "presets", "sample", "size", "status", "view"]
