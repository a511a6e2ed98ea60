"""Public API as modules that import their attributes on demand.

`stillflow`, `stillflow.nn`, `stillflow.contrib.layers` and so on are `ApiModule`s: a missing
attribute is looked up in the table of public names (`_api.py`), imported, and kept. So `import
stillflow` imports neither NumPy nor torch, and a program pays only for the names it uses. Names of
tf.contrib have a table of their own in `stillflow_contrib`, read with the first one of them.

Two kinds of module carry a part of the API. Where a package or module of that name exists (code
path = API path: `stillflow/train/`), it becomes an `ApiModule` itself once it is imported; where
none does, one is made. The table has priority over the contents of a package: a submodule
`layers/dropout.py` does not hide the function `tf.layers.dropout`.
"""

from __future__ import annotations

import gc
import importlib
import sys
from functools import cache
from importlib.machinery import ModuleSpec
from types import ModuleType

from stillflow._api import TABLE
from stillflow._hooks import Hook

TYPE_CHECKING = False  # importing typing would cost more than the rest of this package's start
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

_ROOT = "stillflow"
_CONTRIB = "contrib."
contrib_names: Hook[dict[str, str]] = Hook("_namespace.contrib_names")
with_notices: Hook[Callable[[str, Any], Any]] = Hook("_namespace.with_notices")

# Modules that answer for a whole namespace by function: lookup(name) and names().
_DYNAMIC = {
    "contrib.quantization": "stillflow_contrib.quantization.operations",
    "contrib.specs": "stillflow_contrib.specs.others",
    "raw_ops": "stillflow.ops.raw_ops",
}

# Names of tf.keras in tf.contrib.keras; its optimizers differ.
_CONTRIB_KERAS = (
    "activations", "applications", "backend", "callbacks", "constraints", "datasets",
    "initializers", "layers", "losses", "metrics", "models", "preprocessing", "regularizers",
    "utils", "wrappers",
)  # fmt: skip

# tf.compat.v1 is the whole API once more, tf.compat.v2 shows modules of its Keras a second time;
# tf.contrib.slim shows modules of tf.contrib.layers, as does tf.contrib.grid_rnn, tf.contrib.keras
# those of tf.keras.
_ALIASES = {
    "compat.v1": "",
    "compat.v2.compat": "compat",
    "compat.v2.raw_ops": "raw_ops",
    **{
        f"compat.v2.{name}": f"compat.v2.keras.{name}"
        for name in ("initializers", "losses", "metrics", "optimizers")
    },
    **{
        f"contrib.slim.{name}": f"contrib.layers.{name}"
        for name in ("initializers", "regularizers", "utils")
    },
    **{
        f"{space}.{name}": f"keras.{name}"
        for space in ("contrib.keras", "contrib.keras.api.keras")
        for name in _CONTRIB_KERAS
    },
    "contrib.grid_rnn.layers": "contrib.layers",
    "contrib.grid_rnn.rnn": "contrib.rnn",
    "contrib.slim.layers": "contrib.layers",
    "contrib.slim.init_ops": "",
}

# Namespaces that include all names of another one.
_WIDER = {"contrib.slim": "contrib.layers"}

# tf.compat.v2 shares most names with the API; its own ones are in the table.
_V2 = "compat.v2."


def _prefixes(names: Iterable[str]) -> set[str]:
    found = {""}
    for name in names:
        prefix = name.rpartition(".")[0]
        while prefix not in found:
            found.add(prefix)
            prefix = prefix.rpartition(".")[0]
    return found


_NAMESPACES = _prefixes([*TABLE, *(f"{name}." for name in (*_DYNAMIC, *_ALIASES))])


@cache
def _all_namespaces() -> set[str]:
    return _NAMESPACES | _prefixes(contrib_names.value)


def _names(path: str) -> dict[str, str]:
    """Return the table in which a public name stands, or its namespace's names."""
    return contrib_names.value if path.startswith(_CONTRIB) else TABLE


# The present content of a module, nothing more.
held = ModuleType.__dict__["__dict__"].__get__  # type: ignore[index]


class ApiModule(ModuleType):
    """A module whose public names are imported on first access."""

    __api_prefix__: str

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        """All that the module holds: who reads it, as `vars` does, looks for public names.

        Not so the root's, which would be the whole library with PyTorch.
        """
        if self.__api_prefix__:
            for name in dir(self):
                getattr(self, name)
        return held(self)

    def __getattr__(self, name: str) -> Any:
        path = _join(self.__api_prefix__, name)
        if path in _names(path):
            value = _load(path)
        elif _is_namespace(path):
            value = importlib.import_module(f"{_ROOT}.{path}")
        elif path.startswith(_V2) and _in_v2(path[len(_V2) :]) and path[len(_V2) :] in TABLE:
            value = _load(path[len(_V2) :])
        elif (wider := _join(_WIDER.get(self.__api_prefix__, "-"), name)) in _names(wider):
            value = _load(wider)
        elif name == "__all__":
            return dir(self)
        elif self.__api_prefix__ in _DYNAMIC and not name.startswith("__"):
            module = importlib.import_module(_DYNAMIC[self.__api_prefix__])
            value = module.lookup(name)
        else:
            from stillflow._missing import missing

            value = missing(_why_missing(self.__api_prefix__, name), self, name)
        held(self)[name] = value
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        path = _join(self.__api_prefix__, name)
        if isinstance(value, ModuleType) and value.__name__ == f"{self.__name__}.{name}":
            # The import system binds a submodule in its parent as soon as it is loaded.
            if path in _names(path):
                return
            if _is_namespace(path):
                _adopt(value, _canonical(path))
        super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        prefix = self.__api_prefix__
        start = f"{prefix}." if prefix else ""
        table = _names(start)
        names = {*table, *(_all_namespaces() if start.startswith(_CONTRIB) else _NAMESPACES)}
        if prefix in _DYNAMIC:
            names |= {start + name for name in importlib.import_module(_DYNAMIC[prefix]).names()}
        if start.startswith(_V2):
            names |= {_V2 + name for name in names if _in_v2(name)}
        if wider := _WIDER.get(prefix):
            names |= {prefix + name[len(wider) :] for name in table if name.startswith(f"{wider}.")}
        inside = {
            name[len(start) :].partition(".")[0]
            for name in names
            if name.startswith(start) and name != prefix
        }
        return sorted(name for name in inside if name and not name.startswith("_"))


class NamespaceFinder:
    """Finder for the API's modules without a file; the last one in `sys.meta_path`."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Answers for `stillflow.<namespace>`; None for every other name."""
        root, _, prefix = name.partition(".")
        if root != _ROOT or not prefix or not is_namespace(prefix):
            return None
        loader: Any = _Loader()  # not importlib.abc's: importing that is slow
        return ModuleSpec(name, loader, origin="stillflow API", is_package=True)


class _Loader:
    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = ApiModule(spec.name)
        held(module)["__api_prefix__"] = _canonical(spec.name.partition(".")[2])
        return module

    def exec_module(self, module: ModuleType) -> None:
        canonical = f"{_ROOT}.{held(module)['__api_prefix__']}"
        if canonical not in (f"{_ROOT}.", module.__name__):
            # compat.v1.nn is nn, not a second module.
            sys.modules[module.__name__] = importlib.import_module(canonical)


def attach(name: str) -> None:
    """Make the module `name` (`stillflow.train`) serve its part of the public API.

    Every module that lies where the API has a namespace is attached once it is imported; a package
    calls this itself where its own code needs the public names while it is being loaded.

    Args:
      name: The module's `__name__`; it is `stillflow` or below it.
    """
    _adopt(sys.modules[name], name.partition(".")[2])
    if NamespaceFinder not in sys.meta_path:
        sys.meta_path.append(NamespaceFinder)


def public_names() -> dict[str, str]:
    """Every public name ("nn.relu") and where it is defined ("ops.activations:relu")."""
    return dict(sorted({**TABLE, **contrib_names.value}.items()))


def namespaces() -> set[str]:
    """Return every namespace: "nn", "contrib.crf", "" for the root."""
    return set(_all_namespaces())


def provides(path: str) -> bool:
    """Return True if the API has this name: "nn.relu", "compat.v2.nn.relu", "raw_ops.Add"."""
    path = _canonical(path)
    plain = path[len(_V2) :]
    if path in _names(path) or _is_namespace(path):
        return True
    if path.startswith(_V2):
        return plain in TABLE and _in_v2(plain)
    space, _, name = path.rpartition(".")
    return space in _DYNAMIC and name in importlib.import_module(_DYNAMIC[space]).names()


def target(path: str) -> str | None:
    """Return where a name of the API is defined ("ops.nn.conv:conv2d"); None outside the table."""
    path = _canonical(path)
    space, _, name = path.rpartition(".")
    for known in (path, path.removeprefix(_V2), _join(_WIDER.get(space, "-"), name)):
        if known in _names(known):
            return _names(known)[known]
    return None


def table_of(path: str) -> str:
    """Return the file of the table with the names of a namespace."""
    return f"stillflow{'_contrib' * path.startswith(_CONTRIB)}/_api.py"


def is_namespace(path: str) -> bool:
    """Return True if the API has a namespace "nn", or its other name "compat.v1.nn"."""
    return _is_namespace(_canonical(path))


def _adopt(module: ModuleType, prefix: str) -> None:
    held(module)["__api_prefix__"] = prefix
    if module.__class__ is ModuleType:
        module.__class__ = ApiModule


def _canonical(prefix: str) -> str:
    for alias, meant in _ALIASES.items():
        if prefix == alias or prefix.startswith(f"{alias}."):
            return _canonical(_join(meant, prefix[len(alias) + 1 :]).rstrip("."))
    return prefix


def _is_namespace(path: str) -> bool:
    plain = path[len(_V2) :]
    if path in _NAMESPACES or (path.startswith(_V2) and plain in _NAMESPACES and _in_v2(plain)):
        return True
    return path.startswith(_CONTRIB) and path in _all_namespaces()


def _in_v2(path: str) -> bool:
    """Return True if this name or namespace of tf is in tf.compat.v2 too."""
    return path in _v2_names()


@cache
def _v2_names() -> frozenset[str]:
    """Return the names and namespaces that tf.compat.v2 shares with tf.

    Threads wait for all of it.
    """
    found: set[str] = set()
    for line in _data("v2_names.txt").splitlines():
        space, _, names = line.partition(":")
        found.update(_prefixes([f"{space}."]), (_join(space, n) for n in names.split()))
    return frozenset(found)


def _join(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix else name


def _load(path: str) -> Any:
    module, _, name = _names(path)[path].partition(":")
    return with_notices.value(path, getattr(_imported(absolute(module)), name))


def absolute(module: str) -> str:
    """Return the full name of a module of the table: `stillflow.ops.nn.conv` for "ops.nn.conv"."""
    return module if module.startswith("stillflow_contrib.") else f"{_ROOT}.{module}"


_MANY = 50_000  # objects; PyTorch makes three times as many
_OF_PYTHON = 1_000  # Python 3.12 has set aside some of its own when it starts


def _imported(name: str) -> ModuleType:
    """Return the module; the garbage collector does not run during its import.

    What it makes stays; looking at that again and again is a fifth of the time that PyTorch takes,
    which comes with the first session. Much of it counts as old at once: else the next searches,
    of what is young, would find it, a twentieth of a second each.
    """
    searches = gc.isenabled()
    gc.disable()
    try:
        return importlib.import_module(name)
    finally:
        if searches:
            if gc.get_count()[0] > _MANY and gc.get_freeze_count() < _OF_PYTHON:
                gc.freeze()
                gc.unfreeze()
            gc.enable()


def _why_missing(prefix: str, name: str) -> str:
    module = _join("tensorflow", prefix).rstrip(".")
    message = f"module {module!r} has no attribute {name!r}"
    if name.startswith("__"):
        return message
    if _known_to_tensorflow(prefix, name):
        return f"{message}: {_join('tf', _join(prefix, name))} is not supported by Stillflow yet"
    from stillflow._renamed import SUCCESSORS

    successor = SUCCESSORS.get(_join(prefix, name))
    return f"{message}: since TensorFlow 1.0 it is tf.{successor}" if successor else message


def _known_to_tensorflow(prefix: str, name: str) -> bool:
    # Lines " nn: relu relu6 ", or " flags app.flags: ..." for namespaces with the same members.
    # Searched as text: a miss is rare, and often only an import's probe for a submodule.
    import re

    text = _data("known_names.txt")
    member = rf"^[^:]* {re.escape(prefix)}(?: [^:]*)?:.* {re.escape(name)} "
    namespace = rf"^[^:]* {re.escape(_join(prefix, name))}[ :.]"
    return bool(re.search(f"{member}|{namespace}", text, re.MULTILINE))


def _data(name: str) -> str:
    import pkgutil

    return (pkgutil.get_data(_ROOT, name) or b"").decode("ascii")
