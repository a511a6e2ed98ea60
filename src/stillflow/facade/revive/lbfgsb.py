"""Progress of SciPy's L-BFGS-B, which SciPy 1.15 has stopped to print.

``scipy.optimize.minimize(method="L-BFGS-B", options={"disp": True})``, behind TensorFlow's
`ScipyOptimizerInterface` too, printed the loss of each iteration.  The loop in C is looked at from
outside: its arguments hold the point, the loss and the gradient.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from contextvars import ContextVar
from types import SimpleNamespace
from typing import Any

import numpy as np

_NEW_POINT = 1  # the first number of `task` when an iteration has ended
_ARGUMENTS = 17  # number of arguments of `setulb` in the versions that print nothing
_STARS = "\n           * * *\n"
_LEGEND = """
Tit   = total number of iterations
Tnf   = total number of function evaluations
Tnint = total number of segments explored during Cauchy searches
Skip  = number of BFGS updates skipped
Nact  = number of active bounds at final generalized Cauchy point
Projg = norm of the final projected gradient
F     = final function value
"""
_HEADER = "\n   N    Tit     Tnf  Tnint  Skip  Nact     Projg        F"
_MESSAGES = (
    ("NORM OF PROJECTED GRADIENT", "CONVERGENCE: NORM_OF_PROJECTED_GRADIENT_<=_PGTOL"),
    ("RELATIVE REDUCTION OF F", "CONVERGENCE: REL_REDUCTION_OF_F_<=_FACTR*EPSMCH"),
    ("ITERATIONS", "STOP: TOTAL NO. of ITERATIONS REACHED LIMIT"),
    ("EVALUATIONS", "STOP: TOTAL NO. of f AND g EVALUATIONS EXCEEDS LIMIT"),
    ("ABNORMAL", "ABNORMAL_TERMINATION_IN_LNSRCH"),
)
# Where `isave` counts skipped updates, intervals of the last Cauchy search, active bounds.
_SKIPPED, _INTERVALS, _ACTIVE = 25, 32, 38

_progress: ContextVar[_Progress | None] = ContextVar("progress", default=None)


def patch(module: Any) -> None:
    """Have ``scipy.optimize._lbfgsb_py`` print, unless it does so itself."""
    native = getattr(module, "_lbfgsb", None)
    plain = getattr(module, "_minimize_lbfgsb", None)
    if native is None or plain is None or hasattr(native, "types"):  # of Fortran
        return
    names = {name: getattr(native, name) for name in dir(native) if not name.startswith("__")}
    module._lbfgsb = SimpleNamespace(**{**names, "setulb": _observed(native.setulb)})
    module._minimize_lbfgsb = _printing(plain)


def _observed(setulb: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(setulb)
    def step(*args: Any) -> None:
        progress = _progress.get()
        if progress is None or len(args) != _ARGUMENTS:
            setulb(*args)
            return
        progress.before(args)
        setulb(*args)
        progress.after(args)

    return step


def _printing(plain: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(plain)
    def minimize(*args: Any, disp: Any = None, iprint: int = -1, **options: Any) -> Any:
        given = [each for each in (disp, iprint) if isinstance(each, int)]  # SciPy has a default
        every = int(given[0]) if given else -1
        if every < 0 or disp is False:
            return plain(*args, **options)
        progress = _Progress(1 if every >= 99 else every)
        before = _progress.set(progress)
        try:
            result = plain(*args, **options)
        finally:
            _progress.reset(before)
        progress.end(result)
        return result

    return minimize


class _Progress:
    """Progress of one minimisation, printed as Fortran did: one of `every` iterations, or none."""

    def __init__(self, every: int) -> None:
        self.every = every
        self.calls = 0
        self.iterations = 0
        self.intervals = 0
        self.norm = self.loss = 0.0
        self.counts: Any = None

    def before(self, args: tuple[Any, ...]) -> None:
        """Print the beginning, and the first point as soon as its loss is known."""
        self.calls += 1
        if self.calls == 1:
            self._begin(*args[:5])
        elif self.calls == 2:
            self._look(args)
            self._line(0)

    def after(self, args: tuple[Any, ...]) -> None:
        """Print an iteration that has ended."""
        task, self.counts = args[11], args[13]
        if task[0] == _NEW_POINT:
            self.iterations += 1
            self.intervals += int(self.counts[_INTERVALS])
            self._look(args)
            self._line(self.iterations)

    def _begin(self, m: int, x: Any, low: Any, high: Any, kinds: Any) -> None:
        print("RUNNING THE L-BFGS-B CODE\n" + _STARS)
        print("Machine precision = 2.220D-16")
        print(f" N = {len(x):12d}     M = {m:12d}")
        if not np.any(kinds):
            print(" This problem is unconstrained.", file=sys.stderr)
        at = ((kinds == 1) | (kinds == 2)) & (x <= low) | (kinds >= 2) & (x >= high)
        if self.every:
            print(f"\nAt X0 {int(at.sum()):9d} variables are exactly at the bounds")

    def _look(self, args: tuple[Any, ...]) -> None:
        _, x, low, high, kinds, loss, gradient, *_ = args
        upper, lower = kinds >= 2, (kinds == 1) | (kinds == 2)
        falling = np.where(upper, np.maximum(x - high, gradient), gradient)
        rising = np.where(lower, np.minimum(x - low, gradient), gradient)
        projected = np.where(gradient < 0, falling, rising)
        self.norm, self.loss = float(np.abs(projected).max(initial=0.0)), float(np.ravel(loss)[0])

    def _line(self, number: int) -> None:
        if self.every and number % self.every == 0:
            print(
                f"\nAt iterate {number:4d}    f= {_fortran(self.loss, 5):>12}"
                f"    |proj g|= {_fortran(self.norm, 5):>12}"
            )

    def end(self, result: Any) -> None:
        """Print the totals and the reason of the end.

        Args:
          result: the minimisation's.
        """
        counts = [0] * 40 if self.counts is None else self.counts
        print(_STARS + _LEGEND + _STARS + _HEADER)
        numbers = (self.intervals, counts[_SKIPPED], counts[_ACTIVE])
        print(
            f"{np.size(result.x):5d} {result.nit:6d} {result.nfev:6d}"
            + "".join(
                f"{int(number):{width}d}" for number, width in zip(numbers, (7, 6, 6), strict=True)
            )
            + f"{_fortran(self.norm, 3):>12}{_fortran(self.loss, 3):>12}"
        )
        if self.every:
            print(f"  F = {_free(self.loss)}")
        message = str(result.message)
        ends = (old for part, old in _MESSAGES if part in message)
        print(f"\n{next(ends, message):<60}")


def _fortran(number: float, digits: int) -> str:
    return f"{number:.{digits}E}".replace("E", "D")


def _free(number: float) -> str:
    """Return a number as Fortran prints one without a format."""
    if number == 0 or 0.1 <= abs(number) < 1e16:
        digits = len(str(int(abs(number)))) if abs(number) >= 1 else 0
        return f"{number:20.{17 - digits}f}     "
    mantissa, exponent = f"{number:.16E}".split("E")
    return f"{mantissa:>20}E{int(exponent):+04d}"
