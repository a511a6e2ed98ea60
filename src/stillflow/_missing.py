"""Errors for names that Stillflow does not have.

It is told so by an AttributeError, or an ImportError where it says ``from module import name``:
that statement swallows an AttributeError, and our explanation with it.

With ``STILLFLOW_LENIENT=1`` a missing name is a stand-in instead, which a program may import,
derive from and decorate with, and which raises an error once it is used. That is for programs which
import more than they use. Below AutoGraph's compiler of Python sources it is so always: libraries
derive from its classes at import, for features that few programs then use.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any

_DERIVED_FROM = "tensorflow.python.autograph.pyct."
_CO_OPTIMIZED = 1  # set for the body of a function, not for that of a module or a class


def missing(message: str, module: ModuleType, name: str) -> type[Any]:
    """Raise for a missing name, or return a stand-in; call it from the module's ``__getattr__``.

    A stand-in is for a program under ``STILLFLOW_LENIENT=1``, and some modules. Otherwise it is an
    AttributeError, or an ImportError in ``from module import name``.
    """
    asking = sys._getframe(2)
    lenient = os.environ.get("STILLFLOW_LENIENT", "0") not in ("", "0")
    if module.__name__.startswith(_DERIVED_FROM) and _setting_up(asking):
        lenient = True
    if lenient and not name.startswith("__") and not _looks_for_submodule(asking):
        return _stand_in(message, name)
    if _imports_from(asking):
        path = getattr(module, "__file__", None)
        raise ImportError(message, name=module.__name__, path=path) from None
    raise AttributeError(message, name=name, obj=module) from None


def _looks_for_submodule(frame: FrameType) -> bool:
    """Return whether Python asks, before it looks for a submodule of that name."""
    return frame.f_code.co_name == "_handle_fromlist"


def _imports_from(frame: FrameType) -> bool:
    """Return whether a frame is just executing ``from module import name``."""
    import opcode

    at = frame.f_lasti
    return at >= 0 and frame.f_code.co_code[at] == opcode.opmap["IMPORT_FROM"]


def _stand_in(message: str, name: str) -> type:
    return _StandIn(name, (), {"__module__": "stillflow", "_message": message})


class _StandIn(type):
    """The class of stand-ins: lenient while modules and classes are set up, and strict after."""

    _message: str

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if not _setting_up(sys._getframe(1)):
            raise AttributeError(cls._message)
        if len(args) == 1 and not kwargs and callable(args[0]):
            return cls._decorate(args[0])
        return cls._decorate

    def __getattr__(cls, name: str) -> type[Any]:
        if name.startswith("__") or not _setting_up(sys._getframe(1)):
            raise AttributeError(cls._message)
        return _stand_in(cls._message, name)

    def _decorate(cls, decorated: Any) -> Callable[..., Any] | type[Any]:
        if isinstance(decorated, type):
            return decorated
        return _raising(decorated, cls._message)


def _setting_up(frame: FrameType) -> bool:
    return not frame.f_code.co_flags & _CO_OPTIMIZED


def _raising(function: Callable[..., Any], message: str) -> Callable[..., Any]:
    import functools

    @functools.wraps(function)
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise AttributeError(message)

    return refuse
