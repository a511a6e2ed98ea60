"""``cPickle`` and ``pickle`` for Python 2 programs: their own pickles, text is Latin-1."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from pickle import *
from typing import Any


def load(file: Any, **options: Any) -> Any:  # type: ignore[no-redef]
    """Unpickle from a file, even one that was opened as text; byte strings come out as text."""
    options.setdefault("encoding", "latin1")
    with _of_bytes(file) as data:
        return pickle.load(data, **options)


def loads(data: bytes | str, **options: Any) -> Any:  # type: ignore[no-redef]
    """Unpickle bytes; byte strings come out as text."""
    options.setdefault("encoding", "latin1")
    return pickle.loads(data.encode("latin1") if isinstance(data, str) else data, **options)


def dump(  # type: ignore[no-redef]
    value: Any, file: Any, protocol: int | None = None, **options: Any
) -> None:
    """Pickle to a file, even one that was opened as text, in a form that Python 2 reads too."""
    protocol = 2 if protocol is None else protocol
    with _of_bytes(file) as data:
        pickle.dump(value, data, protocol, **options)


@contextmanager
def _of_bytes(file: Any) -> Iterator[Any]:
    """Open a file of text as one of bytes: Python's own, or one of `tf.gfile`."""
    from stillflow.files.file_io import FileIO

    if not isinstance(file, FileIO):
        yield getattr(file, "buffer", file)
        return
    before, file._binary = file._binary, True
    try:
        yield file
    finally:
        file._binary = before
