"""Verdicts on names of TensorFlow: supported or not."""

from __future__ import annotations

import importlib
from typing import NamedTuple

from stillflow.cli.checking.refusals import REFUSALS
from stillflow.facade import horovod_names as horovod

SUPPORTED = "supported"
MISSING = "not supported yet"
REFUSED = "present, but raises an error when it is used"
UNKNOWN = "not in TensorFlow 1.15"


class Verdict(NamedTuple):
    """Verdict on a name.

    Attributes:
      name: the part of it that names something: "tf.train.Saver" of "tf.train.Saver.restore".
      status: `SUPPORTED`, `MISSING`, `REFUSED` or `UNKNOWN`.
    """

    name: str
    status: str


def verdict(dotted: str) -> Verdict:
    """Return the verdict on a name from the package on, such as "tensorflow.nn.relu".

    Attributes of classes and functions are not checked.
    """
    found = _found(dotted)
    return Verdict(found.name, REFUSED) if found.name in REFUSALS else found


def _found(dotted: str) -> Verdict:
    """Return True if a name is there at all."""
    from stillflow._namespace import is_namespace, provides
    from stillflow.facade import internal, names
    from stillflow.facade.finder import canonical

    if dotted.partition(".")[0] == horovod.ROOT:
        return _of_horovod(dotted)
    words = _shortest(canonical(dotted).split(".")[1:])
    space = ""
    for word in words:
        path = names.join(space, word)
        module, own = f"tensorflow.{space}".rstrip("."), f"tensorflow.{path}"
        if is_namespace(path):
            space = path
            continue
        if provides(path):
            return Verdict(_shown(path), SUPPORTED)
        inside = names.internal_module(module) is not None or module in internal.MODULES
        # Public names are all on record; of internal modules only those that programs use.
        recorded = space in names.known_spaces()
        if space and inside and hasattr(importlib.import_module(module), word):
            if names.internal_module(own) is None and own not in internal.MODULES:
                return Verdict(_shown(path), SUPPORTED)
            space = path
        elif names.internal_module(own) is not None or path in names.known_spaces():
            space = path
        elif path in names.known_public() or (space and inside and not recorded):
            return Verdict(_shown(path), MISSING)
        elif word.startswith("__"):
            break
        else:
            return Verdict(_shown(path), UNKNOWN)
    return Verdict(_shown(space), SUPPORTED if is_namespace(space) or _holds(space) else MISSING)


def _of_horovod(dotted: str) -> Verdict:
    """Return the verdict on a name of Horovod: of its modules for TensorFlow and Keras."""
    module = dotted
    while module not in horovod.MODULES:
        module = module.rpartition(".")[0]
    word = dotted[len(module) + 1 :].partition(".")[0]
    served = horovod.MODULES[module]
    if not word or word.startswith("__"):
        return Verdict(module, SUPPORTED)
    if served and hasattr(importlib.import_module(served), word):
        return Verdict(f"{module}.{word}", SUPPORTED)
    return Verdict(f"{module}.{word}", MISSING)


def _holds(space: str) -> bool:
    """Return True if a module has a recorded name; one without names counts as requested.

    Missing packages can be imported all the same: programs import more than they use.
    """
    from stillflow.facade import names

    module = importlib.import_module(f"tensorflow.{space}")
    found = [name for name in dir(module) if not name.startswith("_")]
    return not found or any(
        _holds(names.join(space, name))
        if names.internal_module(f"tensorflow.{space}.{name}")
        else hasattr(module, name)
        for name in found
    )


def _shortest(words: list[str]) -> list[str]:
    """Return a name without the prefix that only leads back to the whole API."""
    while words[:2] == ["compat", "v1"]:
        words = words[2:]
    return _shortest(words[2:]) if words[:3] == ["compat", "v2", "compat"] else words


def _shown(path: str) -> str:
    """Return a name as programs write it."""
    internal = path.startswith("python.") or ".python." in path
    return f"{'tensorflow' if internal else 'tf'}.{path}".rstrip(".")
