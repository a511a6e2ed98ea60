"""Classes of options: properties with types and defaults, which can be merged."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stillflow.data.options import Options


class OptionsBase:
    """Options that are properties made by `create_option`."""

    def __init__(self) -> None:
        object.__setattr__(self, "_options", {})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, self.__class__):
            return NotImplemented
        names = set(self._options) | set(other._options)  # type: ignore[attr-defined]
        return all(getattr(self, name) == getattr(other, name) for name in names)

    def __ne__(self, other: object) -> Any:
        if isinstance(other, self.__class__):
            return not self.__eq__(other)
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __setattr__(self, name: str, value: Any) -> None:
        if not hasattr(self, name):
            raise AttributeError(f"Cannot set the property {name} on {type(self).__name__}.")
        object.__setattr__(self, name, value)


def create_option(
    name: str, ty: Any, docstring: str, default_factory: Callable[[], Any] = lambda: None
) -> Any:
    """Return an option of `OptionsBase`'s subclasses, of a type or one of a tuple, or None."""

    def get(options: Any) -> Any:
        if name not in options._options:
            options._options[name] = default_factory()
        return options._options[name]

    def put(options: Any, value: Any) -> None:
        types = ty if isinstance(ty, tuple) else (ty,)
        if not isinstance(value, (*types, type(None))):
            raise TypeError(
                f'Property "{name}" must be of type {ty}, got: {value!r} (type: {type(value)!r})'
            )
        options._options[name] = value

    return property(get, put, None, docstring)


def merge_options(*options_list: Any) -> Options:
    """Return options that say all that several say, or raise an error."""
    if not options_list:
        raise ValueError("At least one options should be provided")
    kind = type(options_list[0])
    for options in options_list:
        if not isinstance(options, kind):
            raise TypeError(f"Incompatible options type: {type(options)!r} vs {kind!r}")
    if not isinstance(options_list[0], OptionsBase):
        raise TypeError("The inputs should inherit from `OptionsBase`")
    defaults, result = kind(), kind()
    for options in options_list:
        for name in list(options._options):
            _merge(result, defaults, options, name)
    return result


def _merge(result: Any, defaults: Any, options: Any, name: str) -> None:
    this, that, default = getattr(result, name), getattr(options, name), getattr(defaults, name)
    if that == default:
        return
    if this == default:
        setattr(result, name, that)
    elif isinstance(this, OptionsBase):
        setattr(result, name, merge_options(this, that))
    elif this != that:
        raise ValueError(
            f"Cannot merge incompatible values ({this!r} and {that!r}) of option: {name}"
        )
