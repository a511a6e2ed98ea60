"""Small functions of `tensorflow.python.keras.utils.generic_utils` on lists, names and code."""

from __future__ import annotations

import base64
import marshal
import math
import types
from collections.abc import Callable, Iterable
from typing import Any

from stillflow import nest


def make_batches(size: int, batch_size: int) -> list[tuple[int, int]]:
    """Return the first row, and the row after the last, of each batch."""
    count = math.ceil(size / float(batch_size))
    return [(i * batch_size, min(size, (i + 1) * batch_size)) for i in range(count)]


def to_list(x: Any) -> list[Any]:
    """Return a list as it is, anything else as a list of it."""
    return x if isinstance(x, list) else [x]


def object_list_uid(object_list: Any) -> str:
    """Return the identities of the objects in a structure as a text."""
    return ", ".join(str(abs(id(x))) for x in nest.flatten(object_list))


def is_all_none(structure: Any) -> bool:
    """Return True if a structure holds nothing but None."""
    return all(item is None for item in nest.flatten(structure))


def check_for_unexpected_keys(name: str, input_dict: Any, expected_values: Iterable[Any]) -> None:
    """Raise ValueError for keys of a dictionary that it may not have."""
    unknown = set(input_dict.keys()).difference(expected_values)
    if unknown:
        raise ValueError(
            f"Unknown entries in {name} dictionary: {list(unknown)}. Only expected following keys: "
            f"{expected_values}"
        )


def validate_kwargs(
    kwargs: Iterable[str],
    allowed_kwargs: Iterable[str],
    error_message: str = "Keyword argument not understood:",
) -> None:
    """Raise TypeError for names of arguments that are not allowed."""
    for name in kwargs:
        if name not in allowed_kwargs:
            raise TypeError(error_message, name)


def func_dump(func: Any) -> tuple[str, Any, Any]:
    """Return a function's code as text, its default arguments and the values that it captures."""
    code = base64.encodebytes(marshal.dumps(func.__code__, 2)).decode("ascii")
    captured = tuple(cell.cell_contents for cell in func.__closure__ or ()) or None
    return code, func.__defaults__, captured


def func_load(
    code: Any, defaults: Any = None, closure: Any = None, globs: Any = None
) -> Callable[..., Any]:
    """Return the function that `func_dump` has written.

    `code` is the code, or all that `func_dump` returned; by default there are no global names.
    ValueError if another version of Python has written it.
    """
    if isinstance(code, (tuple, list)):
        code, defaults, closure = code
    if isinstance(defaults, list):
        defaults = tuple(defaults)
    try:
        loaded = marshal.loads(base64.b64decode(code.encode("ascii")))
    except (ValueError, EOFError, TypeError) as error:
        raise ValueError(
            "The code of a function, such as that of a Lambda layer, was written by another "
            "version of Python; make it again in the program"
        ) from error
    cells = None
    if closure is not None:
        cells = tuple(
            value if isinstance(value, types.CellType) else types.CellType(value)
            for value in closure
        )
    scope = {} if globs is None else globs
    return types.FunctionType(loaded, scope, loaded.co_name, defaults, cells)
