"""Whole modules that Python and SciPy have removed, where nothing else provides them."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from stillflow.facade.revive.after import after_import
from stillflow.facade.say import say_to_program

_HERE = "stillflow.facade.revive."
MODULES = {
    "imp": _HERE + "old_imp",
    "cgi": _HERE + "old_cgi",
    "imghdr": _HERE + "old_imghdr",
    "dummy_threading": "threading",
    "sre_compile": "re._compiler",
    "sre_constants": "re._constants",
    "sre_parse": "re._parser",
    "pipes": _HERE + "old_pipes",
    "pkg_resources": _HERE + "old_packages",
    "distutils": _HERE + "old_distutils",
    "distutils.version": _HERE + "old_distutils.version",
    "distutils.util": _HERE + "old_distutils.util",
    "distutils.dir_util": _HERE + "old_distutils.dir_util",
    "distutils.spawn": _HERE + "old_distutils.spawn",
    "distutils.sysconfig": "sysconfig",
    "numpy.core.umath_tests": "numpy._core._umath_tests",
    "numpy.lib.arraysetops": "numpy",
    "numpy.lib.function_base": "numpy",
    "numpy.lib.index_tricks": "numpy",
    "numpy.lib.nanfunctions": "numpy",
    "numpy.lib.shape_base": "numpy",
    "numpy.lib.twodim_base": "numpy",
    "numpy.lib.type_check": "numpy",
    "numpy.linalg.linalg": "numpy.linalg",
    "numpy.testing.utils": "numpy.testing",
    "pandas.tools.plotting": "pandas.plotting",
    "pandas.util.testing": "pandas.testing",
    "scipy.misc": _HERE + "scipy_misc",
    "scipy.misc.pilutil": _HERE + "scipy_misc",
    "scipy.sparse.linalg.eigen": "scipy.sparse.linalg",
    "scipy.sparse.linalg.eigen.arpack": "scipy.sparse.linalg",
    "librosa.output": _HERE + "old_librosa",
    "sklearn.cross_validation": "sklearn.model_selection",
    "sklearn.grid_search": "sklearn.model_selection",
    "sklearn.externals.joblib": "joblib",
    "sklearn.externals.six": "six",
    "xml.etree.cElementTree": "xml.etree.ElementTree",
}


def activate() -> None:
    """Find these modules where nobody else does."""
    if _Finder not in sys.meta_path:
        sys.meta_path.append(_Finder)
    for parent in {name.rpartition(".")[0] for name in MODULES} - {""}:
        after_import(parent, _hold_modules)


def _hold_modules(module: ModuleType) -> None:
    """Python looks below a module only if it has a path; some packages have become files."""
    module.__dict__.setdefault("__path__", [])


class _Finder:
    """The last finder to be asked."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        meant = MODULES.get(name)
        if meant is None:
            return None
        loader: Any = _Loader(meant)
        return ModuleSpec(name, loader, origin=meant, is_package=True)


class _Loader:
    """Loader that substitutes the replacement of an old module."""

    def __init__(self, meant: str) -> None:
        self.meant = meant

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        say_to_program(f"the module {module.__name__} was removed; Stillflow's replaces it")
        meant = importlib.import_module(self.meant)
        if not hasattr(meant, "__path__"):
            meant.__path__ = []  # old modules hang below it
        sys.modules[module.__name__] = meant
