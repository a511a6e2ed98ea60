"""Loads libraries of operations and makes cards of what they register."""

from __future__ import annotations

import hashlib
import os
import sys
import threading
from collections.abc import Sequence
from functools import partial
from types import ModuleType
from typing import Any

from stillflow import errors
from stillflow.graph import card as cards
from stillflow.graph.card import Card
from stillflow.graph.graphdef import op_def
from stillflow.graph.signature import Signature
from stillflow.ops import raw_ops
from stillflow.ops.custom import inference, running
from stillflow.ops.custom.declarations import Declaration, signature_of
from stillflow.ops.custom.documentation import describe
from stillflow.ops.custom.interface import Interface


class LibraryCard(Card):
    """The card of an operation of a library.

    Args:
      signature: its signature.
      options: traits, as those of `Card`.
    """

    def __init__(self, signature: Signature, **options: Any) -> None:
        super().__init__(f"{signature.name}()", **options)
        self.__dict__["signature"] = signature


class Library:
    """A library that is loaded.

    Attributes:
      interface: its functions.
      kernels: the kernels that it registers.
      module: its Python functions, as `tf.load_op_library` gives them.
    """

    def __init__(self, path: str) -> None:
        self.interface = Interface(path)
        declared, self.kernels = self.interface.declarations()
        made = [self._card(number, each) for number, each in enumerate(declared)]
        new = [card for card in made if not _is_known(card)]
        cards.register_library(new)
        self.module = _module(self, made, declared)

    def _card(self, number: int, declared: Declaration) -> LibraryCard:
        signature = signature_of(declared)
        on_gpu = any(k.op == declared.name and k.device == "GPU" for k in self.kernels)
        numbers = {n for k in self.kernels if k.op == declared.name for n in k.host_memory}
        references = [at for at, arg in enumerate(signature.inputs) if arg.is_ref]
        traits: dict[str, Any] = {"devices": "any" if on_gpu else "host", "writes": references}
        traits["numbers"] = tuple(arg.name for arg in signature.inputs if arg.name in numbers)
        card = LibraryCard(signature, **traits)
        card.place = (self.interface.path, 0)
        card.shape(partial(_shapes, library=self, number=number, infers=declared.infers_shapes))
        card.kernel(partial(running.kernel, library=self))
        return card


def _shapes(
    node: Any, *, library: Library, number: int, infers: bool
) -> list[tuple[int | None, ...] | None]:
    if node.planning or node.is_eager or not infers:
        return [None] * len(node.outputs)
    return inference.infer(node, library, number)


def _is_known(card: Card) -> bool:
    """Return True if the same signature is known; AlreadyExistsError if another of its name is."""
    known = cards.find(card.name)
    if known is None:
        return False
    if known.signature == card.signature:
        return True
    raise errors.already_exists(
        f"Op with name {card.name} is registered already, with another signature "
        f"(by {known.place[0] or 'TensorFlow'})"
    )


def _module(library: Library, made: Sequence[Card], declared: Sequence[Declaration]) -> ModuleType:
    """Return the Python module of a library, that of a copy which was loaded before."""
    from stillflow.protos import OpList

    listed = OpList(op=[op_def(card.signature) for card in made])
    name = hashlib.md5(listed.SerializeToString(), usedforsecurity=False).hexdigest()
    if name in sys.modules:
        return sys.modules[name]
    module: Any = ModuleType(name)
    module.LIB_HANDLE, module.OP_LIST = library, listed
    module._IS_TENSORFLOW_PLUGIN = True
    for card, each in zip(made, declared):
        function: Any = raw_ops.positional(card.name)
        if function is None:  # a private operation, whose name begins with "_"
            continue
        function.__name__ = function.__qualname__ = card.signature.function
        function.__doc__ = describe(card.signature, each.doc)
        setattr(module, card.signature.function, function)
        setattr(module, card.name, raw_ops.lookup(card.name))
    sys.modules[name] = module
    return module


_loaded: dict[str, Library] = {}
_lock = threading.Lock()


def load(path: Any) -> Library:
    """Load a library of operations, or give the one that was loaded from this path before.

    NotFoundError: the system cannot load it. UnimplementedError: it was compiled for TensorFlow
    itself. AlreadyExistsError: it registers an operation of a name that is taken.
    """
    name = os.fspath(path)
    name = name.decode() if isinstance(name, bytes) else name
    with _lock:
        if name not in _loaded:
            _loaded[name] = Library(name)
        return _loaded[name]
