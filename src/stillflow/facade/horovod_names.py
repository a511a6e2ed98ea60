"""The names under which Horovod's modules are served, where Horovod itself is not installed."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

ROOT = "horovod"
# What `horovod.__version__` says: the last release that its TensorFlow 1 programs were written for.
VERSION = "0.21.3"
_OURS = "stillflow_contrib.horovod"
# Modules of Horovod, and those of ours that serve them; "" for packages that only hold others.
MODULES = {
    ROOT: "",
    f"{ROOT}.common": "",
    f"{ROOT}.common.util": f"{_OURS}.utilities",
    f"{ROOT}.common.exceptions": f"{_OURS}.utilities",
    f"{ROOT}.keras": f"{_OURS}.keras_package",
    f"{ROOT}.keras.callbacks": f"{_OURS}.keras_callbacks",
    f"{ROOT}.keras.elastic": f"{_OURS}.elastic",
    f"{ROOT}.tensorflow": f"{_OURS}.tensorflow",
    f"{ROOT}.tensorflow.compression": f"{_OURS}.compression",
    f"{ROOT}.tensorflow.elastic": f"{_OURS}.elastic",
    f"{ROOT}.tensorflow.functions": f"{_OURS}.tensorflow",
    f"{ROOT}.tensorflow.gradient_aggregation": f"{_OURS}.aggregation",
    f"{ROOT}.tensorflow.keras": f"{_OURS}.tensorflow_keras",
    f"{ROOT}.tensorflow.keras.callbacks": f"{_OURS}.keras_callbacks",
    f"{ROOT}.tensorflow.keras.elastic": f"{_OURS}.elastic",
    f"{ROOT}.tensorflow.mpi_ops": f"{_OURS}.tensorflow",
    f"{ROOT}.tensorflow.sync_batch_norm": f"{_OURS}.sync_batch_norm",
    f"{ROOT}.tensorflow.util": f"{_OURS}.tensorflow",
}


class HorovodFinder:
    """Finder of Horovod's modules; the last one asked, so that an installed Horovod goes first."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module of Horovod for TensorFlow; None for all others."""
        if name not in MODULES or (name != ROOT and is_installed()):
            return None
        spec = ModuleSpec(name, _Loader(), origin=__file__, is_package=True)  # type: ignore[arg-type]
        spec.has_location = True
        return spec


class _Loader:
    """Loader that puts a module of ours in the place of Horovod's."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = ModuleType(spec.name)
        if not MODULES[spec.name]:
            return module
        module.__dict__["__stillflow__"] = MODULES[spec.name]
        return module

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        if name == ROOT:
            module.__dict__["__version__"] = VERSION
        if MODULES[name]:
            ours = importlib.import_module(MODULES[name])
            found = {key: value for key, value in vars(ours).items() if key[:2] != "__"}
            module.__dict__.update(found)
            module.__doc__ = ours.__doc__


def is_installed() -> bool:
    """Return True if Horovod itself is installed, or was imported before."""
    loaded = sys.modules.get(ROOT)
    if loaded is not None:
        return getattr(loaded, "__file__", None) != __file__
    return PathFinder.find_spec(ROOT) is not None
