"""Functions whose arguments have a newer order or newer names than those that they call."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def handed_on(
    arguments: str, module: Any, name: str, given: dict[str, Any] | None = None, **objects: Any
) -> Callable[..., Any]:
    """Make a function that calls a module's function with its arguments, by name.

    The wheel's stubs and the API reference read the arguments from the source
    (tools/derived_signatures.py). They are as they stand in a definition, but with "..." for a
    default value that is one of `objects`, which are by names of arguments. A `LazyModule` is not
    loaded before the first call; `given` are further arguments of every call.
    """
    frame = sys._getframe(1)
    scope = {"__name__": frame.f_globals["__name__"], "_module": module, "_given": given or {}}
    text = f"def {name}({arguments}): return _module.{name}(**locals(), **_given)"
    # The line of the caller is the one that tracebacks show.
    place = "\n" * (frame.f_lineno - 1)
    exec(compile(place + text, frame.f_code.co_filename, "exec", dont_inherit=True), scope)
    made: Any = scope[name]
    if objects:
        code, values = made.__code__, made.__defaults__
        optional = code.co_varnames[code.co_argcount - len(values) : code.co_argcount]
        made.__defaults__ = tuple(map(objects.get, optional, values))
    made.__doc__ = f"See `{name}` of TensorFlow 1, whose arguments stand in another order."
    return made
