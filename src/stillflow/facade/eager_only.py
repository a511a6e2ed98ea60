"""Names of ``tensorflow.python.eager`` that mean nothing in graphs, or that graphs do not have.

Modules name them while they are loaded, in decorators above all; so they refuse when they are
used, not before.
"""

from __future__ import annotations

import contextlib
import enum
import functools
from collections.abc import Callable, Iterator
from typing import Any

from stillflow import errors


class ExecutionCallback(enum.Enum):
    """What to do about operations that, run at once, give infinities or NaNs."""

    IGNORE = "ignore"
    PRINT = "print"
    RAISE = "raise"
    WARN = "warn"


@contextlib.contextmanager
def errstate(inf_or_nan: Any = None) -> Iterator[None]:
    """Do nothing: these callbacks are told of operations that run at once only."""
    yield


def seterr(inf_or_nan: Any = None) -> dict[str, Any]:
    """Do nothing, and return what holds."""
    return {"inf_or_nan": None}


def test_main(argv: Any = None) -> None:
    """Run the tests of a program with operations that run when they are called."""
    from stillflow.graph.eager_mode import enable_eager_execution
    from stillflow.testing.environment import main

    enable_eager_execution()
    main(argv)


def _refusing(what: str) -> Callable[..., Any]:
    """Return a decorator of functions, with or without arguments of its own."""

    def decorate(func: Any = None, *arguments: Any, **options: Any) -> Any:
        if func is None:
            return functools.partial(decorate, **options)

        def refuse(*args: Any, **kwargs: Any) -> Any:
            raise errors.UnimplementedError(
                None, None, f"{what} is not supported by Stillflow yet: call the function itself"
            )

        with contextlib.suppress(AttributeError):
            functools.update_wrapper(refuse, func)
        return refuse

    return decorate


function = _refusing("tf.function")
defun = _refusing("tf.contrib.eager.defun")
defun_with_attributes = _refusing("defun_with_attributes")
