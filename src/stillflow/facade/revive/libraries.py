"""Former calls and methods of libraries other than NumPy, and of Python's own ``random``.

``yaml.load`` without a loader, which PyYAML 6 rejects, reads what its safe kind of full loader
reads; frames and series of pandas have ``as_matrix``, ``append``, ``get_value`` and ``ix``, and
functions applied to groups see the columns that they are grouped by; arguments of scikit-learn have
their old names too (``TSNE(n_iter=)``); SciPy's L-BFGS-B prints; functions of librosa take by place
what 0.10 takes by name only; ``scipy.ndimage.rotate`` takes arrays of one angle, as it did before
SciPy 1.3; ``tensorboard.summary`` has the functions of TensorFlow 1, which since TensorBoard 2 are
in its ``v1``; a program may call a flag ``log_dir``, as one of absl's has been called since
TensorFlow 1.15 loads it; ``random.sample`` takes sets and the keys of dictionaries,
``random.shuffle`` a function that draws, as they did before Python 3.11; ``logging`` formats arrays
of one element as numbers; assertions of ``unittest`` take arrays of different shapes for unequal,
and empty ones for false.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Set
from typing import Any

from stillflow.facade.revive.after import after_import
from stillflow.facade.revive.by_place import by_place
from stillflow.facade.say import say


def activate() -> None:
    """Patch these libraries when they are imported."""
    after_import("random", _patch_random)
    after_import("unittest.case", _patch_assertions)
    after_import("logging", _patch_logging)
    after_import("yaml", _patch_yaml)
    after_import("pandas", _patch_pandas)
    after_import("scipy.ndimage", _patch_ndimage)
    after_import("scipy.optimize._lbfgsb_py", _patch_lbfgsb)
    for module, kinds in _RENAMED.items():
        after_import(module, functools.partial(_patch_renamed, kinds))
    after_import("tensorboard.summary", _patch_tensorboard)
    after_import("stillflow.platform.flags", _patch_flags)
    for module, names in _BY_PLACE.items():
        after_import(module, functools.partial(_patch_by_place, names.split()))


def _patch_assertions(case: Any) -> None:
    kind = case.TestCase
    kind._baseAssertEqual = _comparing(kind._baseAssertEqual, "eq")
    kind.assertNotEqual = _comparing(kind.assertNotEqual, "ne")
    kind.assertTrue, kind.assertFalse = map(_of_truth, (kind.assertTrue, kind.assertFalse))


def _of_truth(plain: Callable[..., None]) -> Callable[..., None]:
    """Return an assertion of a value's truth, for which an empty array is false."""

    @functools.wraps(plain)
    def check(self: Any, expr: Any, msg: Any = None) -> None:
        if type(expr) is not bool and getattr(expr, "size", None) == 0:
            from stillflow.facade.revive import comparisons

            expr = comparisons.truth(expr)
        plain(self, expr, msg)

    return check


def _comparing(plain: Callable[..., None], name: str) -> Callable[..., None]:
    """Return an assertion of two values, which fails for arrays that cannot be compared."""

    @functools.wraps(plain)
    def check(self: Any, first: Any, second: Any, msg: Any = None) -> None:
        try:
            plain(self, first, second, msg)
            return
        except ValueError as error:
            from stillflow.facade.revive import comparisons

            if not comparisons.is_of_arrays(error):
                raise
        if not comparisons.truth(comparisons.compared(getattr(operator, name), first, second)):
            sign = {"eq": "!=", "ne": "=="}[name]
            standard = f"{first!r} {sign} {second!r}"
            raise self.failureException(self._formatMessage(msg, standard)) from None

    return check


def _patch_logging(logging: Any) -> None:
    kind = logging.LogRecord
    plain = kind.getMessage

    @functools.wraps(plain)
    def get_message(self: Any) -> str:
        try:
            text: str = plain(self)
        except TypeError:
            from stillflow.facade.revive import scalars

            values = scalars.formattable(str(self.msg), self.args)
            if values is None:
                raise
            text = str(self.msg) % values
        return text

    kind.getMessage = get_message


def _patch_random(random: Any) -> None:
    kind = random.Random
    kind.sample, kind.shuffle = _sampling_sets(kind.sample), _shuffling_by(kind.shuffle)
    random.sample, random.shuffle = random._inst.sample, random._inst.shuffle


def _sampling_sets(plain: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(plain)
    def sample(self: Any, population: Any, k: int, **options: Any) -> Any:
        if isinstance(population, Set):
            population = tuple(population)
        return plain(self, population, k, **options)

    return sample


def _shuffling_by(plain: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(plain)
    def shuffle(self: Any, x: Any, random: Callable[[], float] | None = None) -> None:
        if random is None:
            plain(self, x)
            return
        for last in range(len(x) - 1, 0, -1):
            other = int(random() * (last + 1))
            x[last], x[other] = x[other], x[last]

    return shuffle


def _patch_lbfgsb(module: Any) -> None:
    from stillflow.facade.revive import lbfgsb

    lbfgsb.patch(module)


# Arguments that have other names now: {module: {class: {old: new}}}.
_RENAMED = {
    "sklearn.manifold._t_sne": {"TSNE": {"n_iter": "max_iter"}},
    "sklearn.preprocessing._encoders": {"OneHotEncoder": {"sparse": "sparse_output"}},
}


def _patch_renamed(names: dict[str, dict[str, str]], module: Any) -> None:
    for name, pairs in names.items():
        kind = getattr(module, name, None)
        if kind is not None:
            kind.__init__ = _with_old_names(kind.__init__, f"{name}()", pairs)


def _with_old_names(
    plain: Callable[..., Any], label: str, pairs: dict[str, str]
) -> Callable[..., Any]:
    """Return a function that takes arguments under the names that they once had as well."""
    known = inspect.signature(plain).parameters
    pairs = {old: new for old, new in pairs.items() if old not in known and new in known}

    @functools.wraps(plain)
    def call(*args: Any, **options: Any) -> Any:
        for old in options.keys() & pairs.keys():
            say(f"the argument {old} of {label} was removed; it is {pairs[old]} here")
            options[pairs[old]] = options.pop(old)
        return plain(*args, **options)

    return call


# Functions of librosa, by the modules that hold them.
_BY_PLACE = {
    "librosa.filters": "mel",
    "librosa.core.audio": "resample",
    "librosa.core.spectrum": "stft istft",
    "librosa.feature.spectral": "melspectrogram mfcc",
    "librosa.effects": "trim split time_stretch pitch_shift",
}


def _patch_by_place(names: list[str], module: Any) -> None:
    for name in names:
        setattr(module, name, _by_place(getattr(module, name)))


def _by_place(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that also takes keyword-only arguments by position, in their order."""
    parameters = list(inspect.signature(plain).parameters.values())
    count = sum(item.kind is item.POSITIONAL_OR_KEYWORD for item in parameters)
    named = [item.name for item in parameters if item.kind is item.KEYWORD_ONLY]
    return by_place(plain, count, named)


def _patch_flags(flags: Any) -> None:
    flags.DEFINE_string = _taking_log_dir(flags.DEFINE_string)


def _taking_log_dir(define: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that defines a flag `log_dir`, even if absl.logging has it too."""

    @functools.wraps(define)
    def define_string(*args: Any, **options: Any) -> Any:
        names = {*args[:1], options.get("name"), options.get("flag_name")}
        if "log_dir" in names:
            from absl import flags, logging  # it defines its flag now, not later

            if flags.FLAGS.find_module_defining_flag("log_dir") == logging.__name__:
                flags.FLAGS["log_dir"].allow_override = True
        return define(*args, **options)

    return define_string


def _patch_tensorboard(summary: Any) -> None:
    old = getattr(summary, "v1", None)
    for name, value in vars(old).items() if old is not None else ():
        if not name.startswith("_"):
            setattr(summary, name, value)


def _patch_ndimage(ndimage: Any) -> None:
    ndimage.rotate = _of_one_angle(ndimage.rotate)


def _of_one_angle(plain: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(plain)
    def rotate(input: Any, angle: Any, *args: Any, **options: Any) -> Any:
        if getattr(angle, "size", 0) == 1:  # an array, as `randint(-15, 15, 1)` gives one
            angle = angle.item()
        return plain(input, angle, *args, **options)

    return rotate


def _patch_yaml(yaml: Any) -> None:
    for name in ("load", "load_all"):
        setattr(yaml, name, _with_loader(getattr(yaml, name), yaml.FullLoader))


def _with_loader(plain: Any, default: Any) -> Any:
    @functools.wraps(plain)
    def load(stream: Any, Loader: Any = default) -> Any:
        return plain(stream, Loader=Loader)

    return load


def _patch_pandas(pandas: Any) -> None:
    for kind in (pandas.DataFrame, pandas.Series):
        for name, value in _METHODS.items():
            if not hasattr(kind, name):
                setattr(kind, name, value)
    from stillflow.facade.revive import old_pandas

    old_pandas.patch(pandas)
    after_import("pandas.core.groupby.generic", _patch_groups)


def _patch_groups(module: Any) -> None:
    plain = module.DataFrameGroupBy.apply
    default = inspect.signature(plain).parameters.get("include_groups")
    if default is not None and default.default is False:  # since pandas 3
        module.DataFrameGroupBy.apply = _with_groups(plain)


def _with_groups(plain: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(plain)
    def apply(self: Any, func: Any, *args: Any, include_groups: bool = True, **options: Any) -> Any:
        if not include_groups or not callable(func):
            return plain(self, func, *args, **options)
        say("functions given to .groupby().apply() see the columns of groups, as before")
        call = functools.partial(_call_with, func, args, options)
        try:
            return self._python_apply_general(call, self._selected_obj)
        except TypeError:  # a function of numbers where the groups are strings
            return plain(self, func, *args, **options)

    return apply


def _call_with(func: Any, args: tuple[Any, ...], options: dict[str, Any], group: Any) -> Any:
    return func(group, *args, **options)


def _as_matrix(self: Any, columns: Any = None) -> Any:
    """Return the values as an array."""
    say(".as_matrix() was removed from pandas; it is .values here")
    return (self if columns is None else self[columns]).values


def _append(self: Any, other: Any, ignore_index: bool = False, **options: Any) -> Any:
    """Return this and others below it: frames, series, or a row that is a series or a dict."""
    import pandas

    say(".append() was removed from pandas; it is pandas.concat here")
    others = other if isinstance(other, (list, tuple)) else [other]
    if isinstance(self, pandas.DataFrame):
        others = [_as_frame(item) for item in others]
    return pandas.concat([self, *others], ignore_index=ignore_index, **options)


def _as_frame(row: Any) -> Any:
    import pandas

    if isinstance(row, dict):
        row = pandas.Series(row)
    return row.to_frame().T.infer_objects() if isinstance(row, pandas.Series) else row


def _get_value(self: Any, *place: Any) -> Any:
    """Return the value at an index, of a frame in a column."""
    say(".get_value() was removed from pandas; it is .at here")
    return self.at[place if len(place) > 1 else place[0]]


class _Ix:
    """Chooses by labels; by places where the labels are no numbers and numbers are given."""

    def __init__(self, owner: Any) -> None:
        self._owner = owner

    def _labels(self, key: Any) -> Any:
        axes = self._owner.axes
        if isinstance(key, tuple) and len(axes) > 1:
            return tuple(_labels(part, axis) for part, axis in zip(key, axes, strict=False))
        return _labels(key, axes[0])

    def __getitem__(self, key: Any) -> Any:
        return self._owner.loc[self._labels(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._owner.loc[self._labels(key)] = value


def _labels(key: Any, axis: Any) -> Any:
    """Return the labels of places of an axis; other keys, and those of numbered axes, as is."""
    import numpy as np

    if axis.dtype.kind in "iuf" or not _of_numbers(key):
        return key
    if isinstance(key, slice) or np.ndim(key):
        return axis[key]
    return axis[int(key)]


def _of_numbers(key: Any) -> bool:
    import numpy as np

    if isinstance(key, slice):
        given = [part for part in (key.start, key.stop) if part is not None]
        return bool(given) and all(isinstance(part, (int, np.integer)) for part in given)
    return np.asarray(key).dtype.kind in "iu"


def _ix(self: Any) -> _Ix:
    """Labels or places of rows, and of columns."""
    say(".ix was removed from pandas; it is .loc or .iloc here")
    return _Ix(self)


_METHODS: dict[str, Any] = {
    "as_matrix": _as_matrix,
    "append": _append,
    "get_value": _get_value,
    "ix": property(_ix),
}
