"""Names of ``tensorflow.python.eager`` that mean nothing in graphs, or that graphs do not have.

Modules name them while they are loaded, in decorators above all; so they refuse when they are
used, not before.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

from stillflow import errors


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
