"""Functions of NumPy with their former arguments.

``np.load`` reads arrays of Python objects, as it did before NumPy 1.16.3; ``np.reshape`` takes the
shape as ``newshape``, which NumPy 2.4 has dropped; ``np.meshgrid`` and its like return lists, to
which programs append, where NumPy 2 returns tuples; ``np.stack`` and its like take generators,
which NumPy 1.24 rejects; ``np.fromstring`` takes bytes of numbers, which NumPy 2.3 has stopped to
do. A number in a list prints as ``0.5``, not as ``np.float64(0.5)``. ``np.issubdtype(x, float)`` is
true for every floating type, as before NumPy 1.20. Uneven lists are `uneven`'s.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

from stillflow.facade.revive.after import after_import
from stillflow.facade.revive.program_files import own
from stillflow.facade.revive.uneven import is_of_today
from stillflow.facade.say import say

_REFUSAL = "allow_pickle=False"
_NOT_BINARY = "binary mode of fromstring"
_STACKS = ("stack", "hstack", "vstack", "dstack", "column_stack", "row_stack")
_LISTS = ("meshgrid", "broadcast_arrays", "atleast_1d", "atleast_2d", "atleast_3d")


def activate() -> None:
    """Patch NumPy when it is imported."""
    after_import("numpy", _patch_load)
    after_import("numpy", _patch_reshape)
    after_import("numpy", _patch_lists)
    after_import("numpy", _patch_stacks)
    after_import("numpy", _patch_fromstring)
    after_import("numpy", _print_plain_numbers)
    after_import("numpy", _allow_casts)
    after_import("numpy", _patch_type_tests)


def _patch_type_tests(numpy: Any) -> None:
    """Take Python's types and names of types for the kind that they belong to.

    A program's own calls only: a library of today that asks for ``bool`` means this one type.
    """
    plain = numpy.issubdtype

    @functools.wraps(plain)
    def issubdtype(arg1: Any, arg2: Any) -> bool:
        found: bool = plain(arg1, arg2)
        is_type = isinstance(arg2, type) and issubclass(arg2, numpy.generic)
        if found or is_type or isinstance(arg2, numpy.dtype):
            return found
        kind = numpy.dtype(arg2).type.mro()[1]
        if not plain(arg1, numpy.generic if kind is object else kind):
            return False
        if not own(sys._getframe(1).f_code.co_filename):
            return found
        say(f"np.issubdtype(..., {arg2!r}) asks for any {kind.__name__} here, as in old NumPy")
        return True

    numpy.issubdtype = issubdtype


def _allow_casts(_: Any) -> None:
    """Cast numbers that a type cannot hold without a word, as NumPy did before 1.24."""
    import warnings

    for what in ("overflow", "invalid value"):
        warnings.filterwarnings(
            "ignore", f"{what} encountered in cast", RuntimeWarning, append=True
        )


def _patch_reshape(numpy: Any) -> None:
    plain = numpy.reshape

    @functools.wraps(plain)
    def reshape(*args: Any, **options: Any) -> Any:
        if "newshape" in options:
            array = args[0] if args else options.pop("a")
            return plain(array, options.pop("newshape"), *args[1:], **options)
        return plain(*args, **options)

    numpy.reshape = reshape


def _patch_fromstring(numpy: Any) -> None:
    plain = numpy.fromstring

    @functools.wraps(plain)
    def fromstring(
        string: Any, dtype: Any = float, count: int = -1, *args: Any, **options: Any
    ) -> Any:
        try:
            return plain(string, dtype, count, *args, **options)
        except ValueError as error:
            if _NOT_BINARY not in str(error):
                raise
        data = string.encode() if isinstance(string, str) else bytes(string)
        try:
            return numpy.frombuffer(data, dtype, count).copy()
        except ValueError as error:
            raise ValueError(str(error).replace("buffer", "string", 1)) from None

    numpy.fromstring = fromstring


def _print_plain_numbers(numpy: Any) -> None:
    if int(numpy.__version__.partition(".")[0]) >= 2:
        numpy.set_printoptions(legacy="1.25")


def _patch_lists(numpy: Any) -> None:
    for name in _LISTS:
        setattr(numpy, name, _returning_lists(getattr(numpy, name)))


def _patch_stacks(numpy: Any) -> None:
    for name in _STACKS:
        if hasattr(numpy, name):
            setattr(numpy, name, _taking_generators(getattr(numpy, name)))


def _taking_generators(plain: Any) -> Any:
    given = "arrays" if plain.__name__ == "stack" else "tup"

    @functools.wraps(plain)
    def call(*args: Any, **options: Any) -> Any:
        if not args and given in options:
            args = (options.pop(given),)
        if args and hasattr(args[0], "__iter__") and not hasattr(args[0], "__getitem__"):
            args = (list(args[0]), *args[1:])
        return plain(*args, **options)

    return call


def _returning_lists(plain: Any) -> Any:
    @functools.wraps(plain)
    def call(*args: Any, **options: Any) -> Any:
        result = plain(*args, **options)
        if type(result) is tuple and not is_of_today(sys._getframe(1)):
            return list(result)
        return result

    return call


def _patch_load(numpy: Any) -> None:
    plain = numpy.load

    @functools.wraps(plain)
    def load(file: Any, mmap_mode: Any = None, *args: Any, **options: Any) -> Any:
        if args or "allow_pickle" in options:
            return plain(file, mmap_mode, *args, **options)
        at = file.tell() if hasattr(file, "tell") else 0
        try:
            found = plain(file, mmap_mode, **options)
        except ValueError as error:
            if _REFUSAL not in str(error):
                raise
            _tell(file)
            if hasattr(file, "seek"):
                file.seek(at)
            return plain(file, mmap_mode, allow_pickle=True, **options)
        if hasattr(found, "allow_pickle"):
            found = _archive(found, file)
        return found

    numpy.load = load


def _archive(found: Any, file: Any) -> Any:
    """Let an .npz archive read objects too, and say so when it comes to that."""
    plain = type(found)

    class NpzFile(plain):  # type: ignore[misc, valid-type]
        allow_pickle: bool

        def __getitem__(self, key: str) -> Any:
            try:
                return super().__getitem__(key)
            except ValueError as error:
                if self.allow_pickle or _REFUSAL not in str(error):
                    raise
            _tell(file)
            self.allow_pickle = True
            return super().__getitem__(key)

    found.__class__ = NpzFile
    return found


def _tell(file: Any) -> None:
    name = getattr(file, "name", file)
    say(f"np.load unpickles objects from {name!s}, as old NumPy did; a pickle can run code")
