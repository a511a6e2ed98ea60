"""Functions of NumPy that take uneven lists, arrays of one element, and integers out of range.

Lists of different lengths were an array of lists until NumPy 1.24; with ``copy=False``, `np.array`
copied where it had to until NumPy 2; integers outside of the range of a type wrapped around until
then, and scalars had nonzero elements; an array of one element was a number until NumPy 2.4.  Each
function is called as it is, and once more with other arguments if that has failed.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from stillflow.facade.revive.after import after_import
from stillflow.facade.say import say

_HERE = __name__.rpartition(".")[0]
_UNEVEN = "inhomogeneous"
_NO_COPY = "Unable to avoid copy"
_OF_NO_DIMENSIONS = "nonzero on 0d arrays"
_ONE_ELEMENT = ("only 0-dimensional arrays", "only integer scalar arrays")
_OF_TODAY = (
    "numpy", "stillflow", "stillflow_contrib", "torch", "scipy", "pandas", "matplotlib", "sklearn",
)  # fmt: skip
# The functions that take a type after their first argument, or as ``dtype``.
_MAKERS = frozenset({"array", "asanyarray", "asarray", "ascontiguousarray", "asfortranarray"})
_JOINERS = frozenset({"column_stack", "concatenate", "dstack", "hstack", "row_stack", "vstack"})
FUNCTIONS = {
    "": """
        all amax amin any append apply_along_axis arange argmax argmin argpartition argsort
        argwhere array array_split asanyarray asarray asarray_chkfinite ascontiguousarray
        asfortranarray asmatrix atleast_1d atleast_2d atleast_3d broadcast_arrays broadcast_to
        column_stack compress concatenate convolve copy copyto correlate count_nonzero cumsum
        delete diag diagflat diagonal dot dstack ediff1d empty_like expand_dims extract
        flatnonzero flip fliplr flipud full full_like histogram histogram_bin_edges hstack imag
        inner insert intersect1d iscomplex iscomplexobj isin isreal isrealobj ix_ kron lexsort
        max may_share_memory mean median meshgrid min min_scalar_type nan_to_num nanargmax
        nanargmin nancumsum nanmax nanmin nansum ndim nonzero ones_like outer pad partition
        piecewise polyadd polyder polyint polymul polyval prod ptp quantile ravel real
        real_if_close repeat require reshape resize roll rot90 row_stack save savez
        savez_compressed searchsorted select setdiff1d setxor1d shape shares_memory size sort
        split squeeze stack std sum take tensordot tile trace transpose tril trim_zeros triu
        union1d unique vander var vdot vstack where zeros_like""",
    "random": "permutation multinomial",
    "linalg": "matrix_rank norm",
}

_Arguments = tuple[tuple[Any, ...], dict[str, Any]]


def activate() -> None:
    """Patch NumPy when it is imported."""
    after_import("numpy", _patch)


def _patch(numpy: Any) -> None:
    array = numpy.array
    for module, names in FUNCTIONS.items():
        owner = getattr(numpy, module) if module else numpy
        for name in names.split():
            if hasattr(owner, name):
                label = f"{module}.{name}".lstrip(".")
                setattr(owner, name, _as_before(getattr(owner, name), label, array))


def _as_before(plain: Any, name: str, array: Callable[..., Any]) -> Any:
    @functools.wraps(plain)
    def call(*args: Any, **options: Any) -> Any:
        try:
            return plain(*args, **options)
        except (TypeError, ValueError, OverflowError) as error:
            if is_of_today(sys._getframe(1)):
                raise
            again = _other_arguments(name, args, options, str(error), array)
            if again is None:
                raise
        return plain(*again[0], **again[1])

    return call


def is_of_today(caller: FrameType | None) -> bool:
    """Return True if a library of today calls, which relies on NumPy's present behaviour."""
    while caller is not None:
        module = str(caller.f_globals.get("__name__", ""))
        if not module.startswith(_HERE):  # not another of the functions that wrap this one
            return module.partition(".")[0] in _OF_TODAY
        caller = caller.f_back
    return False


def _other_arguments(
    name: str, args: tuple[Any, ...], options: dict[str, Any], error: str, array: Any
) -> _Arguments | None:
    """Return the arguments to try next, after an error; None if it stands."""
    from stillflow.facade.revive import scalars

    if name == "array" and _NO_COPY in error:
        return args, {**options, "copy": None}
    if _OF_NO_DIMENSIONS in error:
        return _changed(args, options, lambda item: [item] if _is_number(item) else item)
    if any(part in error for part in _ONE_ELEMENT):
        return _changed(args, options, scalars.one)
    dtype = _wanted_type(name, args, options)
    if scalars.OUT_OF_BOUNDS in error:
        return _within_bounds(name, args, options, dtype)
    if dtype is not None and not _is_of_objects(dtype):
        return _changed(args, options, functools.partial(_of_type, dtype=dtype))
    if _UNEVEN not in error:
        return None
    joined = name in _JOINERS
    again = _changed(args, options, functools.partial(_evened, array=array, joined=joined))
    if again is not None:
        say(f"np.{name} takes lists of different lengths for an array of lists here")
    return again


def _changed(
    args: tuple[Any, ...], options: dict[str, Any], change: Callable[[Any], Any]
) -> _Arguments | None:
    """Return changed arguments; None if all of them stay the same."""
    made = tuple(map(change, args))
    named = {name: change(item) for name, item in options.items()}
    same = all(new is old for new, old in zip(made, args, strict=True))
    if same and all(named[name] is options[name] for name in named):
        return None
    return made, named


def _is_number(value: Any) -> bool:
    import numpy as np

    return np.isscalar(value) or (isinstance(value, np.ndarray) and not value.ndim)


def _wanted_type(name: str, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    at = 1 if name in _MAKERS else 2 if name == "full" else None
    given = args[at] if at is not None and len(args) > at else options.get("dtype")
    if given is None and name == "full_like" and args:
        return getattr(args[0], "dtype", None)
    return given


def _is_of_objects(dtype: Any) -> bool:
    import numpy as np

    return np.dtype(dtype).kind == "O"


def _within_bounds(
    name: str, args: tuple[Any, ...], options: dict[str, Any], dtype: Any
) -> _Arguments | None:
    """Return arguments whose integers have wrapped around to be of a type."""
    from stillflow.facade.revive import scalars

    at = 1 if name.startswith("full") else 0
    if dtype is None or len(args) <= at:
        return None
    wrapped = scalars.wrapped(args[at], dtype)
    if wrapped is args[at]:
        return None
    return (*args[:at], wrapped, *args[at + 1 :]), options


def _of_type(value: Any, dtype: Any) -> Any:
    """Return lists as an array of numbers is made of: with numbers for arrays of one element."""
    import numpy as np

    from stillflow.facade.revive import scalars

    if not isinstance(value, (list, tuple)):
        return value
    if np.dtype(dtype).names is not None:
        rows = [tuple(map(scalars.one, row)) if isinstance(row, tuple) else row for row in value]
        same = all(new is old for new, old in zip(rows, value, strict=True))
        return value if same else rows
    return scalars.level(value)


def _evened(value: Any, array: Any, joined: bool = False) -> Any:
    """Return uneven lists as an array of lists, in lists of such lists too; else the value.

    Args:
      value: an argument.
      array: NumPy's own function.
      joined: True if the items are arrays on their own, which a function joins.
    """
    if not isinstance(value, (list, tuple)):
        return value
    try:
        array(value)
    except ValueError as error:
        if _UNEVEN not in str(error):
            return value
    else:
        return value
    parts = [_evened(item, array) for item in value]
    if any(new is not old for new, old in zip(parts, value, strict=True)):
        together = type(value)(parts) if type(value) in (list, tuple) else parts
        if joined:
            return together
        try:
            array(together)
        except ValueError:
            pass  # the parts are uneven among each other, too
        else:
            return together
    return array(value, dtype=object)
