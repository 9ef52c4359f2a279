from . import corpus, errors, imports, model, notes, presets, sample, size, status, view

__all__ = ["corpus", "errors", "imports", "model", "notes", "presets", "sample", "size", "status", "view"]
