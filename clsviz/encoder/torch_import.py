"""Importing torch while other threads compute.

As soon as sys.modules holds torch, SciPy and scikit-learn check whether an array is a torch.Tensor, even while another
thread is still importing torch, which takes seconds. Until torch has a Tensor, these checks fail.
"""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType


def guard_torch() -> None:
    """Give torch a placeholder Tensor, which no array is an instance of, from the first moment of its import."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path) if fullname == "torch" else None
        if spec is None or not isinstance(spec.loader, SourceFileLoader):
            return None  # left to the finders that follow
        spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


class _Loader(SourceFileLoader):
    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = ModuleType(spec.name)
        vars(module)["Tensor"] = type("Tensor", (), {})
        return module
