"""Errors of files as the errors TensorFlow raises, each with the file's name."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable

from stillflow import errors
from stillflow.files import sniff

# The error of the operating system, its class and the words in which TensorFlow states it.
_CLASSES: dict[int, Callable[..., errors.OpError]] = {
    errno.ENOENT: errors.NotFoundError,
    errno.ENODEV: errors.NotFoundError,
    errno.ENXIO: errors.NotFoundError,
    errno.ESRCH: errors.NotFoundError,
    errno.EEXIST: errors.AlreadyExistsError,
    errno.EPERM: errors.PermissionDeniedError,
    errno.EACCES: errors.PermissionDeniedError,
    errno.EROFS: errors.PermissionDeniedError,
    errno.ENOTDIR: errors.FailedPreconditionError,
    errno.EISDIR: errors.FailedPreconditionError,
    errno.ENOTEMPTY: errors.FailedPreconditionError,
    errno.EBUSY: errors.FailedPreconditionError,
    errno.ENOSPC: errors.ResourceExhaustedError,
    errno.EDQUOT: errors.ResourceExhaustedError,
    errno.EMFILE: errors.ResourceExhaustedError,
    errno.ENFILE: errors.ResourceExhaustedError,
    errno.EFBIG: errors.ResourceExhaustedError,
    errno.ENOMEM: errors.ResourceExhaustedError,
    errno.EINVAL: errors.InvalidArgumentError,
    errno.ENAMETOOLONG: errors.InvalidArgumentError,
}


def from_os(error: OSError, path: str) -> errors.OpError:
    """Return the error for one of the operating system: `path; message`."""
    kind = _CLASSES.get(error.errno or 0)
    text = f"{path}; {os.strerror(error.errno) if error.errno else error}"
    if kind is None:
        return errors.unknown(text)
    return kind(None, None, text)


class os_errors:
    """Inside it, errors of the operating system become those of `tf.errors`, naming `path`.

    A class, as the frame of a generator that an exception has left keeps the frames of all callers,
    and what they hold, until the garbage collector comes (since Python 3.12).
    """

    __slots__ = ("_path",)

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, OSError):
            raise from_os(error, self._path) from None
        if isinstance(error, ValueError):  # a zero byte or a surrogate in the path
            raise errors.invalid_argument(f"{self._path!r}; {error}") from None


def data_loss(what: str, path: str, offset: int | None = None) -> errors.DataLossError:
    """Return a DataLossError with the fault, the file, the offset and a likely cause."""
    place = f"in {path}" if offset is None else f"in {path} at byte {offset}"
    guess = sniff.describe_path(path)
    return errors.data_loss(f"{what}\n{place}" + (f"\n{path} is {guess}" if guess else ""))
