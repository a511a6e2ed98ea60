"""A program that asks which version of the distribution ``tensorflow`` is installed gets 1.15.5."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from stillflow.facade import callers, install
from stillflow.facade.revive.after import after_import

NAMES = ("tensorflow", "tensorflow-gpu", "tensorflow-cpu", "tensorflow-estimator")


def activate() -> None:
    """Answer ``importlib.metadata`` and ``pkg_resources``."""
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)
    after_import("pkg_resources", _patch)


class _Finder:
    """Offers the distribution to those who ask for it by name, before everybody else."""

    @staticmethod
    def find_spec(*arguments: Any) -> None:
        return None

    @staticmethod
    def find_distributions(context: Any = None) -> Iterator[Any]:
        name = re.sub(r"[-_.]+", "-", getattr(context, "name", None) or "").lower()
        if name in NAMES and install.serving() and not callers.denied():
            from stillflow.facade.revive.tensorflow_distribution import TensorFlowDistribution

            yield TensorFlowDistribution(name)


def _patch(module: ModuleType) -> None:
    if not hasattr(module, "get_distribution"):
        return  # `old_packages` takes its place, which asks importlib.metadata
    plain = module.get_distribution
    provider = module.Distribution

    def get_distribution(dist: Any) -> Any:
        name = re.sub(r"[-_.]+", "-", dist).lower() if isinstance(dist, str) else ""
        if name not in NAMES or not install.serving() or callers.denied():
            return plain(dist)
        return provider(project_name=name, version=sys.modules["stillflow"].__version__)

    module.__dict__["get_distribution"] = get_distribution
