"""Pickles of known things only; others could run anything when they are read."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

Names = Mapping[tuple[str, str], Any]

# Parts of arrays, in files of any NumPy; None stands for the thing itself.
ARRAYS: Names = dict.fromkeys(
    [
        ("numpy", "ndarray"),
        ("numpy", "dtype"),
        ("numpy.core.multiarray", "_reconstruct"),
        ("numpy.core.multiarray", "scalar"),
        ("numpy.core.numeric", "_frombuffer"),  # of protocol 5, Python's own choice since 3.14
        ("numpy._core.multiarray", "_reconstruct"),
        ("numpy._core.multiarray", "scalar"),
        ("numpy._core.numeric", "_frombuffer"),
        ("_codecs", "encode"),
    ]
)


class _Unpickler(pickle.Unpickler):
    def __init__(self, content: bytes, known: Names, what: str, encoding: str) -> None:
        super().__init__(io.BytesIO(content), encoding=encoding)
        self._known, self._what = known, what

    def find_class(self, module: str, name: str) -> Callable[..., Any] | type[Any]:
        if (module, name) not in self._known:
            raise pickle.UnpicklingError(f"{module}.{name} is no part of {self._what}.")
        found = self._known[module, name]
        return super().find_class(module, name) if found is None else found


_InPython: Any = pickle._Pickler  # the faster one names things as it finds them


class _Pickler(_InPython):
    def __init__(self, file: io.BytesIO, known: Names, what: str) -> None:
        super().__init__(file, protocol=2)
        self._names = {value: names for names, value in known.items()}
        self._what = what

    def save_global(self, obj: Any, name: str | None = None) -> None:
        if obj not in self._names:
            raise pickle.PicklingError(f"{obj!r} cannot be saved in {self._what}.")
        self.write(pickle.GLOBAL + "{}\n{}\n".format(*self._names[obj]).encode())
        self.memoize(obj)

    dispatch = {**_InPython.dispatch, FunctionType: save_global}


def loads(content: bytes, known: Names, what: str, encoding: str = "ASCII") -> Any:
    """Return the content of a pickle; UnpicklingError if it names anything that is not known.

    `known` says what (module, name) stands for, None for what it names; `what` the pickle should
    hold is for the error. `encoding` is of Python 2's strings, as of `pickle.loads`.
    """
    return _Unpickler(content, known, what, encoding).load()


def dumps(value: Any, known: Names, what: str) -> bytes:
    """Return a pickle that `loads` takes; PicklingError if anything else belongs to it.

    `known` has by (module, name) in the pickle the class or function that it stands for.
    """
    file = io.BytesIO()
    _Pickler(file, known, what).dump(value)
    return file.getvalue()
