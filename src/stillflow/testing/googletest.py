"""Running tests: temporary folders, the main function of a test program, stubs."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from types import ModuleType, TracebackType
from typing import Any

from stillflow._export import export

_temp_dir = ""


def main(argv: list[str] | None = None) -> None:
    """Run the tests of the calling program, or with `--benchmarks=` these, and exit."""
    from absl.testing import absltest

    from stillflow.platform import app
    from stillflow.testing import benchmark

    arguments = argv or sys.argv
    benchmark.benchmarks_main(
        lambda: app.run(main=lambda args: absltest.main(argv=args), argv=arguments), arguments
    )


@export("test.get_temp_dir")
def get_temp_dir() -> str:
    """Return a folder for the files of tests; it is the same in one process, and removed after."""
    global _temp_dir
    if not _temp_dir:
        prefix = os.environ.get("TEST_TMPDIR")
        if not prefix:
            program = os.path.basename(sys.argv[0] or "test").removesuffix(".py")
            prefix = os.path.join(tempfile.gettempdir(), program)
        _temp_dir = tempfile.mkdtemp(prefix=prefix)
        atexit.register(shutil.rmtree, _temp_dir, ignore_errors=True)
    return _temp_dir


GetTempDir = get_temp_dir


@export("test.test_src_dir_path")
def test_src_dir_path(relative_path: str) -> str:
    """Return the path of a file below TensorFlow's sources, in the tree that TEST_SRCDIR names.

    Args:
      relative_path: e.g. "core/platform".

    Raises:
      KeyError: the environment has no TEST_SRCDIR.
    """
    return os.path.join(os.environ["TEST_SRCDIR"], "org_tensorflow/tensorflow", relative_path)


def StatefulSessionAvailable() -> bool:
    """Return False."""
    return False


@export("test.StubOutForTesting")
class StubOutForTesting:
    """Replaces attributes for a test and puts them back.

    Either call `CleanUp()` in the end, or use it as a context.
    """

    def __init__(self) -> None:
        self.cache: list[tuple[Any, Any, str]] = []
        self.stubs: list[tuple[Any, str, Any]] = []

    def __del__(self) -> None:
        self.CleanUp()

    def __enter__(self) -> StubOutForTesting:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.CleanUp()

    def CleanUp(self) -> None:
        """Put everything back."""
        self.SmartUnsetAll()
        self.UnsetAll()

    def SmartSet(self, obj: Any, attr_name: str, new_attr: Any) -> None:
        """Replace an attribute where it is defined: in the object, its class or a base of that.

        Raises:
          AttributeError: there is no such attribute.
        """
        owner = obj
        if not isinstance(obj, ModuleType) and (
            isinstance(obj, type) or attr_name not in vars(obj)
        ):
            classes = (obj if isinstance(obj, type) else type(obj)).__mro__
            if not hasattr(obj, attr_name):
                raise AttributeError("Attribute not found.")
            owner = next((item for item in classes if attr_name in vars(item)), classes[0])
        self.stubs.append((owner, attr_name, _old(owner, attr_name)))
        setattr(owner, attr_name, new_attr)

    def SmartUnsetAll(self) -> None:
        """Restore the attributes that `SmartSet` has replaced."""
        for owner, name, value in reversed(self.stubs):
            setattr(owner, name, value)
        self.stubs = []

    def Set(self, parent: Any, child_name: str, new_child: Any) -> None:
        """Replace an attribute of a module, a class or an object itself."""
        self.cache.append((parent, _old(parent, child_name), child_name))
        setattr(parent, child_name, new_child)

    def UnsetAll(self) -> None:
        """Restore the attributes that `Set` has replaced."""
        for parent, value, name in reversed(self.cache):
            setattr(parent, name, value)
        self.cache = []


def _old(owner: Any, name: str) -> Any:
    """Return an attribute as it has to be set again: static methods stay such."""
    stored = vars(owner).get(name)
    return stored if isinstance(stored, (staticmethod, classmethod)) else getattr(owner, name)
