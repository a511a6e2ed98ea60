"""Calls of pandas as before its versions 2 and 3.

Arguments that have to be named now may be given by place (``frame.drop("x", 1)``); ``fillna`` takes
``method``, ``read_csv`` the arguments of old; ``values`` can be written to; text is of type
``object``; frequencies have their short names (``"M"``, ``"H"``); functions that rolled over a
window are there; an assignment to a column that stands for itself changes its frame.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

from stillflow.facade.revive.by_place import by_place
from stillflow.facade.say import say

# Functions that took arguments by position; their order is that of the old signatures.
_BY_PLACE = {
    "drop": "labels axis index columns level inplace errors",
    "dropna": "axis how thresh subset inplace",
    "drop_duplicates": "subset keep inplace",
    "sort_values": "by axis ascending inplace kind na_position",
    "sort_index": "axis level ascending inplace kind na_position",
    "set_index": "keys drop append inplace verify_integrity",
    "reset_index": "level drop inplace col_level col_fill",
    "pivot": "index columns values",
    "where": "cond other inplace axis level",
    "mask": "cond other inplace axis level",
    "any": "axis bool_only skipna",
    "all": "axis bool_only skipna",
    "to_csv": "path_or_buf sep na_rep float_format columns header index index_label mode encoding",
}
_FUNCTIONS_BY_PLACE = {
    "concat": "objs axis join join_axes ignore_index keys",
    "read_csv": "filepath_or_buffer sep delimiter header names index_col usecols",
    "read_table": "filepath_or_buffer sep delimiter header names index_col usecols",
    "read_excel": "io sheet_name header",
}
_FREQUENCIES = {
    "M": "ME", "Q": "QE", "A": "YE", "Y": "YE", "BM": "BME", "BQ": "BQE", "BA": "BYE", "H": "h",
    "T": "min", "S": "s", "L": "ms", "U": "us", "N": "ns", "BH": "bh",
}  # fmt: skip
_ROLLED = ("mean", "sum", "std", "var", "median", "max", "min", "count")


def patch(pandas: Any) -> None:
    """Bring the calls back; each only where the installed pandas has not got it."""
    for kind in (pandas.DataFrame, pandas.Series):
        for name, order in _BY_PLACE.items():
            if hasattr(kind, name):
                setattr(kind, name, _by_place(getattr(kind, name), order, kind))
        kind.fillna = _with_method(kind.fillna)
        kind.values = property(_writable(kind.values.fget))
        kind.to_numpy, kind.__array__ = _writable(kind.to_numpy), _writable(kind.__array__)
        _set_missing(kind, "iteritems", lambda self: self.items())
        _set_missing(kind, "sort", lambda self, *args, **options: _sorted(self, args, options))
        _set_missing(kind, "order", kind.sort_values)
    _set_missing(pandas.DataFrame, "applymap", getattr(pandas.DataFrame, "map", None))
    for name, order in _FUNCTIONS_BY_PLACE.items():
        setattr(pandas, name, _by_place(getattr(pandas, name), order))
    for name in ("read_csv", "read_table"):
        setattr(pandas, name, _reading(getattr(pandas, name)))
    _keep_text(pandas)
    _name_frequencies()


def _set_missing(kind: Any, name: str, value: Any) -> None:
    if not hasattr(kind, name):
        setattr(kind, name, value)


def _by_place(plain: Callable[..., Any], order: str, kind: Any = None) -> Callable[..., Any]:
    """Return a function that takes keyword-only arguments by position, in an order."""
    parameters = inspect.signature(plain).parameters
    count = sum(item.kind is item.POSITIONAL_OR_KEYWORD for item in parameters.values())
    names = [name for name in order.split() if name in parameters]
    named = names[count - (kind is not None) :]
    return by_place(plain, count, named)


def _with_method(plain: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(plain)
    def fillna(
        self: Any, value: Any = None, method: str | None = None, axis: Any = None,
        inplace: bool = False, limit: int | None = None, **options: Any,
    ) -> Any:  # fmt: skip
        options = {"axis": axis, "inplace": inplace, "limit": limit}
        if method is None:
            return plain(self, value, **options)
        say(".fillna(method=) was removed from pandas; it is .ffill() or .bfill() here")
        fill = self.ffill if method in ("ffill", "pad") else self.bfill
        return fill(**options)

    return fillna


def _writable(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Values that may be written to, which changes the frame as well, as it did."""

    @functools.wraps(plain)
    def values(self: Any, *args: Any, **options: Any) -> Any:
        import numpy as np

        found = plain(self, *args, **options)
        if not isinstance(found, np.ndarray) or found.flags.writeable:
            return found
        found = found.view()
        try:
            found.flags.writeable = True
        except ValueError:  # the memory is somebody else's
            return found.copy()
        return found

    return values


def _sorted(owner: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Return the former result of `sort`: by columns, or by the index if none is named."""
    by = args[:1] or [options.pop(name) for name in ("columns", "by") if name in options]
    if hasattr(owner, "columns"):
        return owner.sort_values(by[0], **options) if by else owner.sort_index(**options)
    options.setdefault("inplace", True)  # that of a series changed it
    return owner.sort_values(**options)


def _reading(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Return a reader of tables that takes arguments that it once had."""
    known = inspect.signature(plain).parameters

    @functools.wraps(plain)
    def read(*args: Any, **options: Any) -> Any:
        squeeze = "squeeze" not in known and options.pop("squeeze", False)
        if "delim_whitespace" not in known and options.pop("delim_whitespace", False):
            options["sep"] = r"\s+"
        if "error_bad_lines" not in known and "on_bad_lines" in known:
            strict = options.pop("error_bad_lines", None)
            warned = options.pop("warn_bad_lines", True)
            if strict is False:
                options["on_bad_lines"] = "warn" if warned else "skip"
        for name in ("infer_datetime_format", "mangle_dupe_cols", "verbose", "keep_date_col"):
            if name not in known:
                options.pop(name, None)
        table = plain(*args, **options)
        return table.squeeze("columns") if squeeze else table

    return read


def chained(owner: Any, column: Any, index: Any, value: Any) -> bool:
    """Do ``frame[column][index] = value``, which pandas 3 does on a copy; False for no frame."""
    if not _is_frame(owner) or not _has(owner, column):
        return False
    say("frame[column][index] = value changes the frame here, as before pandas 3")
    changed = owner[column].copy()
    changed[index] = value
    owner[column] = changed
    return True


def in_place(owner: Any, column: Any, method: str, *args: Any, **options: Any) -> Any:
    """Do ``frame[column].method(..., inplace=True)``, which pandas 3 does on a copy."""
    found = owner[column]
    if not _is_frame(owner) or options.get("inplace") is not True:
        return getattr(found, method)(*args, **options)
    say(f"frame[column].{method}(inplace=True) changes the frame here, as before pandas 3")
    options.pop("inplace")
    owner[column] = getattr(found, method)(*args, **options)
    return None


def _is_frame(owner: Any) -> bool:
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(owner, pandas.DataFrame):
        return False
    return int(pandas.__version__.partition(".")[0]) >= 3


def _has(owner: Any, column: Any) -> bool:
    try:
        return bool(column in owner.columns)
    except TypeError:
        return False


def _keep_text(pandas: Any) -> None:
    """Let columns of text be arrays of objects."""
    try:
        pandas.set_option("future.infer_string", False)
    except (AttributeError, KeyError):  # an earlier pandas, or a later one
        return


def _name_frequencies() -> None:
    from pandas.tseries import frequencies

    plain = frequencies.to_offset

    @functools.wraps(plain)
    def to_offset(freq: Any, *args: Any, **options: Any) -> Any:
        try:
            return plain(freq, *args, **options)
        except ValueError:
            renamed = _renamed(freq)
            if renamed is None:
                raise
        return plain(renamed, *args, **options)

    for name, module in list(sys.modules.items()):
        if name.startswith("pandas.") and getattr(module, "to_offset", None) is plain:
            module.__dict__["to_offset"] = to_offset


def _renamed(freq: Any) -> str | None:
    """Return a frequency of old, as ``3M`` or ``A-DEC``, as it is spelled now."""
    if not isinstance(freq, str):
        return None
    count = freq[: len(freq) - len(freq.lstrip("-0123456789"))]
    name, dash, anchor = freq[len(count) :].partition("-")
    new = _FREQUENCIES.get(name)
    return None if new is None else f"{count}{new}{dash}{anchor}"


def _rolling(name: str) -> Callable[..., Any]:
    def roll(
        arg: Any, window: int, min_periods: int | None = None, freq: Any = None,
        center: bool = False, **options: Any,
    ) -> Any:  # fmt: skip
        import pandas

        arg = arg if hasattr(arg, "rolling") else pandas.Series(arg)
        rolled = arg.rolling(window, min_periods=min_periods, center=center)
        return getattr(rolled, name)(**options)

    return roll


def ewma(
    arg: Any, com: float | None = None, span: float | None = None, halflife: float | None = None,
    min_periods: int = 0, freq: Any = None, adjust: bool = True, **options: Any,
) -> Any:  # fmt: skip
    """Return the exponentially weighted moving average of a series or a frame."""
    weighted = arg.ewm(
        com=com, span=span, halflife=halflife, min_periods=min_periods, adjust=adjust, **options
    )
    return weighted.mean()


def __getattr__(name: str) -> Callable[..., Any]:
    statistic = name.removeprefix("rolling_")
    if statistic != name and statistic in _ROLLED:
        return _rolling(statistic)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
