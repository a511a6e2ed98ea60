"""HDF5 files as programs knew them before h5py 3.

An attribute that is text can be decoded, as the bytes that it was; lists of bytes are written as
bytes of one length; a dataset has ``value``, a file ``fid``; and ``h5py.File(name)`` without a mode
opens a file for writing too, and makes one that is not there.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
from typing import Any

from stillflow.facade.revive.after import after_import
from stillflow.facade.say import say


def activate() -> None:
    """Patch h5py when it is imported."""
    after_import("h5py", _patch)


class Text(str):
    """Text that may also be decoded."""

    __slots__ = ()

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """Return the text as it is."""
        say("text in HDF5 attributes is str now; Stillflow lets it be decoded")
        return str(self)

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)


def _patch(h5py: Any) -> None:
    if int(h5py.__version__.partition(".")[0]) < 3:
        return
    _patch_attributes(h5py.AttributeManager)
    if not hasattr(h5py.Dataset, "value"):
        h5py.Dataset.value = property(_value)
    if not hasattr(h5py.File, "fid"):
        h5py.File.fid = h5py.File.id
    for kind, name in ((h5py.AttributeManager, "create"), (h5py.Group, "create_dataset")):
        setattr(kind, name, _of_one_length(getattr(kind, name)))
    _patch_mode(h5py.File)


def _of_one_length(plain: Any) -> Any:
    @functools.wraps(plain)
    def create(self: Any, *args: Any, **kwargs: Any) -> Any:
        call = inspect.signature(plain).bind(self, *args, **kwargs)
        data: Any = call.arguments.get("data")
        several = isinstance(data, (list, tuple)) and data and not call.arguments.get("dtype")
        if several and all(isinstance(item, bytes) for item in data):
            import numpy as np  # revived when it is imported, so not here before a program does

            call.arguments["data"] = np.asarray(data)
        return plain(*call.args, **call.kwargs)

    return create


def _patch_attributes(manager: Any) -> None:
    plain = manager.__getitem__

    @functools.wraps(plain)
    def get(self: Any, name: Any) -> Any:
        return _decodable(plain(self, name))

    manager.__getitem__ = get


def _decodable(value: Any) -> Any:
    if isinstance(value, str):
        return Text(value)
    if getattr(getattr(value, "dtype", None), "kind", None) == "O":
        for index, item in enumerate(value.flat):
            if isinstance(item, str):
                value.flat[index] = Text(item)
    return value


def _value(dataset: Any) -> Any:
    say("Dataset.value was removed from h5py; it is dataset[()] here")
    return dataset[()]


def _patch_mode(file: Any) -> None:
    plain = file.__init__

    @functools.wraps(plain)
    def init(self: Any, name: Any, mode: str | None = None, *args: Any, **options: Any) -> None:
        if mode is None and isinstance(name, (str, os.PathLike)) and _called_by_program():
            mode = "r" if os.path.exists(name) and not os.access(name, os.W_OK) else "a"
        plain(self, name, "r" if mode is None else mode, *args, **options)

    file.__init__ = init


def _called_by_program() -> bool:
    """Return True if a program's own module calls, rather than a library of today."""
    from stillflow.facade.revive.sources import own

    return own(sys._getframe(2).f_code.co_filename)
