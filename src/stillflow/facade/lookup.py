"""Resolution of names in internal TensorFlow modules; the first matching rule decides.

1. the table of our own equivalents, ``internal.OBJECTS``, by this name
2. the names recorded from TensorFlow 1.15, ``internal_names.txt``
3. a submodule
4. in ``*_pb2`` modules: a message, an enum, an enum value, a module of a file that its file imports
5. in ``gen_*`` modules: the operation in ``tf.raw_ops``
6. the namespaces recorded for the module, then a public name spelled the same
7. the modules of ours that ``internal.OBJECTS`` names for all other names, ``"*"``
8. in ``tensorflow.python.ops``: again ``tf.raw_ops``, which those modules re-export
9. an internal module of that name, which this one may well have imported
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from stillflow._namespace import held
from stillflow.facade import internal, names

MISSING: Any = object()
_V2 = "compat.v2."


def lookup(module: str, name: str) -> Any:
    """Return the object `name` of ``tensorflow.python.ops.array_ops`` or the like, or MISSING."""
    for rule in _RULES:
        value = rule(module, name)
        if value is not MISSING:
            return value
    return MISSING


def resolve(public: str) -> Any:
    """Return the object a public name such as "nn.relu" stands for, or MISSING."""
    value: Any = importlib.import_module("stillflow")
    for part in public.split("."):
        try:
            value = getattr(value, part)
        except AttributeError:
            return MISSING
        if type(value).__module__ == "stillflow.facade.served":
            return MISSING  # the import system bound an internal module where nothing public is
    return value


def listing(module: str) -> list[str]:
    """Return the names an internal module is known to have, for dir() and star imports."""
    found = set(internal.OBJECTS.get(module, ())) - {"*"}
    for own in _own_modules(module):
        found.update(name for name in dir(own) if not name.startswith("_"))
    if module.endswith("_pb2"):
        found.update(_file(module), _imported_files(module))
    entry = names.internal_module(module)
    if entry is not None:
        found.update(entry.names)
        for space in entry.spaces:
            start = names.join(space, "")
            found.update(
                public[len(start) :]
                for public in names.known_public()
                if public.startswith(start) and "." not in public[len(start) :]
            )
    return sorted(found)


def _own(module: str, name: str) -> Any:
    target = internal.OBJECTS.get(module, {}).get(name)
    if target is not None:
        path, _, attribute = target.partition(":")
        own = importlib.import_module(path)
        return getattr(own, attribute) if attribute else own
    return MISSING


def _any_own(module: str, name: str) -> Any:
    if name.startswith("_"):
        return MISSING
    for own in _own_modules(module):
        value = held(own).get(name, MISSING)
        if value is not MISSING and not isinstance(value, ModuleType):
            return value
    return MISSING


def _own_modules(module: str) -> Iterator[ModuleType]:
    for path in internal.OBJECTS.get(module, {}).get("*", "").split():
        yield importlib.import_module(path)


def _recorded(module: str, name: str) -> Any:
    entry = names.internal_module(module)
    public = entry.names.get(name) if entry is not None else None
    if public is None:
        return MISSING
    value = resolve(public)
    if value is MISSING and public.startswith(_V2) and not name.endswith("_v2"):
        # The 2.x form of an endpoint whose 1.x form takes the same arguments and more.
        value = resolve(public[len(_V2) :])
    return value


def _submodule(module: str, name: str) -> Any:
    full = f"{module}.{name}"
    if names.internal_module(full) is None:
        return MISSING
    return importlib.import_module(full)


def _message(module: str, name: str) -> Any:
    return _file(module).get(name, MISSING) if module.endswith("_pb2") else MISSING


def _file(module: str) -> Any:
    from stillflow import protos

    try:
        return protos.file(module.removesuffix("_pb2").replace(".", "/") + ".proto")
    except KeyError:
        return {}


def _imported_file(module: str, name: str) -> Any:
    found = _imported_files(module).get(name) if name.endswith("_pb2") else None
    return MISSING if found is None else importlib.import_module(found)


def _imported_files(module: str) -> dict[str, str]:
    """Return the modules that protoc has one import, by the names that it gives them there."""
    own = _file(module).get("DESCRIPTOR") if module.endswith("_pb2") else None
    imports = [] if own is None else [item.name.removesuffix(".proto") for item in own.dependencies]
    return {
        path.replace("_", "__").replace("/", "_dot_") + "__pb2": path.replace("/", ".") + "_pb2"
        for path in imports
    }


def _generated(module: str, name: str) -> Any:
    if not module.rpartition(".")[2].startswith("gen_"):
        return MISSING
    # Operations with a wrapper elsewhere are hidden there: gen_nn_ops._fused_batch_norm.
    return _raw_op(name.removeprefix("_"))


def _reexported(module: str, name: str) -> Any:
    is_ops = module.startswith("tensorflow.python.ops.") or module.endswith(".training_ops")
    return _raw_op(name) if is_ops else MISSING


def _raw_op(name: str) -> Any:
    from stillflow.facade.raw import generated

    return MISSING if name.startswith("_") else generated(name, MISSING)


def _same_name(module: str, name: str) -> Any:
    public = _public_name(module, name)
    return resolve(public) if public is not None else MISSING


def _public_name(module: str, name: str) -> str | None:
    """Return the public name that is spelled like a name of an internal module, if there is one."""
    if name.startswith("_") or module.endswith("_pb2"):
        return None
    entry = names.internal_module(module)
    spaces = list(entry.spaces) if entry is not None else []
    if entry is not None and entry.alias:
        spaces.append(entry.alias)
    if module.startswith("tensorflow.contrib."):
        # A contrib package keeps to itself: its conv2d is not tf.layers' conv2d.
        spaces.append(".".join(module.split(".")[1:3]))
    else:
        spaces.append("")
    for space in spaces:
        public = names.join(space, name)
        if public in names.known_public():
            return public
    return None


def _imported(module: str, name: str) -> Any:
    if _public_name(module, name) is not None:  # one that is not supported yet
        return MISSING
    if module.endswith(f".{name}"):  # a function that has the name of its module
        return MISSING
    for package in (module.rpartition(".")[0], *_IMPORTED_FROM):
        full = f"{package}.{name}"
        if package != "tensorflow" and names.internal_module(full) is not None:
            return importlib.import_module(full)
    return MISSING


_IMPORTED_FROM = tuple(
    f"tensorflow.python.{package}"
    for package in ("framework", "ops", "util", "platform", "training", "client", "eager", "lib.io")
)
_RULES = (
    _own,
    _recorded,
    _submodule,
    _message,
    _imported_file,
    _generated,
    _same_name,
    _any_own,
    _reexported,
    _imported,
)
