"""`tf.flags` of 0.x, whose `FLAGS._parse_flags()` and `FLAGS.__flags` programs print."""

from __future__ import annotations

import sys
from typing import Any

from stillflow.platform import flags as _today


def __getattr__(name: str) -> Any:
    return getattr(_today, name)


class _Flags:
    """The flags of the program; a program may set further ones without defining them."""

    def __init__(self) -> None:
        object.__setattr__(self, "_further", {})

    def __getattribute__(self, name: str) -> Any:
        flags: Any = _today.FLAGS
        further = object.__getattribute__(self, "_further")
        if name in further:
            return further[name]
        if name == "_parse_flags":
            return lambda args=None: flags(args or sys.argv)
        if name == "__flags":
            if not flags.is_parsed():
                flags(sys.argv)
            own = {flag.name for flag in flags.flags_by_module_dict().get(sys.argv[0], ())}
            values = {flag: flags[flag].value for flag in flags if not own or flag in own}
            return values | further
        return getattr(flags, name)

    def __setattr__(self, name: str, value: Any) -> None:
        flags: Any = _today.FLAGS
        if name in flags:
            setattr(flags, name, value)
        else:
            object.__getattribute__(self, "_further")[name] = value

    def __getitem__(self, name: str) -> Any:
        return _today.FLAGS[name]

    def __contains__(self, name: str) -> bool:
        return name in _today.FLAGS

    def __iter__(self) -> Any:
        return iter(_today.FLAGS)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        flags: Any = _today.FLAGS
        return flags(*args, **kwargs)


FLAGS = _Flags()
