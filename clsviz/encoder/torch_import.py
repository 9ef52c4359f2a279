"""Importing torch while other threads compute.

SciPy and scikit-learn ask whether an array is one of torch's as soon as sys.modules has a torch, also while another
thread is still importing it, which takes seconds. They fail then, as it has no Tensor yet.
"""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType


def guard_torch() -> None:
    """Let torch, from the first moment of its import on, have a stand-in for its Tensor, of which no array is one."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path) if fullname == "torch" else None
        if spec is None or not isinstance(spec.loader, SourceFileLoader):
            return None  # as everything else, it is left to the finders that follow
        spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


class _Loader(SourceFileLoader):
    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = ModuleType(spec.name)
        vars(module)["Tensor"] = type("Tensor", (), {})
        return module
