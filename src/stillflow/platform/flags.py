"""tf.flags: absl's flags, with the names and the manners they had in TensorFlow 1.

The difference is that reading a flag parses the command line if nobody has done so yet, and that
the arguments of the usual definitions may go by their old names.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any

from absl import flags as _absl

from stillflow._export import export_value

# Flags defined through the wrappers below belong to the module that calls them.
_absl.disclaim_key_flags()

_RENAMED = {"flag_name": "name", "default_value": "default", "docstring": "help"}

_PARSED_BY_READING = (
    "Hint: since TensorFlow 1.5 reading a flag parses the command line if nobody has done so yet; "
    "leave this call out."
)


_DOC = """Define a flag of the command line whose value is {kind}.

    Args:
      name: of the flag: `--name=value`, or `--name` and `--noname` for bools.
      default: its value without that option, or None.
      help: text that `--help` shows.
      flag_name, default_value, docstring: older names of `name`, `default` and `help`.
      **args: as in absl: `required`, `short_name`, `lower_bound` and `upper_bound` of numbers.

    Returns:
      An `absl.flags.FlagHolder`; `tf.flags.FLAGS.name` gives the value as well.

    Raises:
      absl.flags.DuplicateFlagError: if another module defines a flag of that name.

    Example:
      >>> _ = tf.flags.{function}("{name}", {default}, "{text}")
      >>> arguments = tf.flags.FLAGS(["train.py", "{option}"])
      >>> tf.flags.FLAGS.{name}
      {value}
    """


def _renaming(
    define: Callable[..., Any],
    kind: str,
    name: str,
    default: str,
    text: str,
    option: str,
    value: Any,
) -> Callable[..., Any]:
    """Let a function that defines a flag take the argument names of early TensorFlow too.

    Args:
      define: absl's function.
      kind: description of the values.
      name, default, text: of an example.
      option, value: an option for the example, and the flag's value with it.
    """

    @functools.wraps(define)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if not _RENAMED.keys().isdisjoint(kwargs):
            import logging

            kwargs = {_RENAMED.get(name, name): value for name, value in kwargs.items()}
            logging.warning(
                "Use of the keyword argument names (flag_name, default_value, "
                "docstring) is deprecated, please use (name, default, help) instead."
            )
        return define(*args, **kwargs)

    wrapper.__doc__ = _DOC.format(
        kind=kind, function=define.__name__, name=name, default=default, text=text,
        option=option, value=repr(value),
    )  # fmt: skip
    return wrapper


class _FlagValuesWrapper:
    """`absl.flags.FLAGS`, which parses `sys.argv` when a flag is read before anybody has."""

    def __init__(self, wrapped: Any) -> None:
        self.__dict__["__wrapped"] = wrapped

    def __getattribute__(self, name: str) -> dict[str, Any] | type[Any]:
        if name == "__dict__":
            return super().__getattribute__(name)
        return self.__dict__["__wrapped"].__getattribute__(name)

    def __getattr__(self, name: str) -> Any:
        wrapped = self.__dict__["__wrapped"]
        if not wrapped.is_parsed():
            wrapped(sys.argv)
        try:
            return wrapped.__getattr__(name)
        except AttributeError as error:
            if name != "_parse_flags":
                raise
            raise AttributeError(f"{error}\n{_PARSED_BY_READING}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__["__wrapped"].__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        self.__dict__["__wrapped"].__delattr__(name)

    def __dir__(self) -> Any:
        return self.__dict__["__wrapped"].__dir__()

    def __getitem__(self, name: str) -> Any:
        return self.__dict__["__wrapped"][name]

    def __setitem__(self, name: str, flag: Any) -> None:
        self.__dict__["__wrapped"][name] = flag

    def __contains__(self, name: object) -> bool:
        return name in self.__dict__["__wrapped"]

    def __len__(self) -> int:
        return len(self.__dict__["__wrapped"])

    def __iter__(self) -> Iterator[str]:
        return iter(self.__dict__["__wrapped"])

    def __str__(self) -> str:
        return str(self.__dict__["__wrapped"])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__dict__["__wrapped"](*args, **kwargs)


FLAGS = export_value("flags.FLAGS", "app.flags.FLAGS", _FlagValuesWrapper(_absl.FLAGS))
DEFINE_string = export_value(
    "flags.DEFINE_string", "app.flags.DEFINE_string",
    _renaming(
        _absl.DEFINE_string, "a string", "data_dir", '"data"', "Folder of the examples.",
        "--data_dir=mnist", "mnist",
    ),
)  # fmt: skip
DEFINE_boolean = export_value(
    "flags.DEFINE_boolean", "app.flags.DEFINE_boolean",
    _renaming(
        _absl.DEFINE_boolean, "a bool", "augment", "True", "Flip images at random.",
        "--noaugment", False,
    ),
)  # fmt: skip
DEFINE_float = export_value(
    "flags.DEFINE_float", "app.flags.DEFINE_float",
    _renaming(
        _absl.DEFINE_float, "a float", "rate", "0.1", "Learning rate.", "--rate=1e-3", 0.001
    ),
)  # fmt: skip
DEFINE_integer = export_value(
    "flags.DEFINE_integer", "app.flags.DEFINE_integer",
    _renaming(
        _absl.DEFINE_integer, "an integer", "batch_size", "32", "Examples per step.",
        "--batch_size=64", 64,
    ),
)  # fmt: skip
DEFINE_bool = DEFINE_boolean
export_value("flags.DEFINE_bool", "app.flags.DEFINE_bool", DEFINE_bool)

ArgumentParser = export_value(
    "flags.ArgumentParser", "app.flags.ArgumentParser", _absl.ArgumentParser
)
ArgumentSerializer = export_value(
    "flags.ArgumentSerializer", "app.flags.ArgumentSerializer", _absl.ArgumentSerializer
)
BaseListParser = export_value(
    "flags.BaseListParser", "app.flags.BaseListParser", _absl.BaseListParser
)
BooleanFlag = export_value("flags.BooleanFlag", "app.flags.BooleanFlag", _absl.BooleanFlag)
BooleanParser = export_value("flags.BooleanParser", "app.flags.BooleanParser", _absl.BooleanParser)
CantOpenFlagFileError = export_value(
    "flags.CantOpenFlagFileError", "app.flags.CantOpenFlagFileError", _absl.CantOpenFlagFileError
)
CsvListSerializer = export_value(
    "flags.CsvListSerializer", "app.flags.CsvListSerializer", _absl.CsvListSerializer
)
DEFINE = export_value("flags.DEFINE", "app.flags.DEFINE", _absl.DEFINE)
DEFINE_alias = export_value("flags.DEFINE_alias", "app.flags.DEFINE_alias", _absl.DEFINE_alias)
DEFINE_enum = export_value("flags.DEFINE_enum", "app.flags.DEFINE_enum", _absl.DEFINE_enum)
DEFINE_enum_class = export_value(
    "flags.DEFINE_enum_class", "app.flags.DEFINE_enum_class", _absl.DEFINE_enum_class
)
DEFINE_flag = export_value("flags.DEFINE_flag", "app.flags.DEFINE_flag", _absl.DEFINE_flag)
DEFINE_list = export_value("flags.DEFINE_list", "app.flags.DEFINE_list", _absl.DEFINE_list)
DEFINE_multi = export_value("flags.DEFINE_multi", "app.flags.DEFINE_multi", _absl.DEFINE_multi)
DEFINE_multi_enum = export_value(
    "flags.DEFINE_multi_enum", "app.flags.DEFINE_multi_enum", _absl.DEFINE_multi_enum
)
DEFINE_multi_enum_class = export_value(
    "flags.DEFINE_multi_enum_class",
    "app.flags.DEFINE_multi_enum_class",
    _absl.DEFINE_multi_enum_class,
)
DEFINE_multi_float = export_value(
    "flags.DEFINE_multi_float", "app.flags.DEFINE_multi_float", _absl.DEFINE_multi_float
)
DEFINE_multi_integer = export_value(
    "flags.DEFINE_multi_integer", "app.flags.DEFINE_multi_integer", _absl.DEFINE_multi_integer
)
DEFINE_multi_string = export_value(
    "flags.DEFINE_multi_string", "app.flags.DEFINE_multi_string", _absl.DEFINE_multi_string
)
DEFINE_spaceseplist = export_value(
    "flags.DEFINE_spaceseplist", "app.flags.DEFINE_spaceseplist", _absl.DEFINE_spaceseplist
)
DuplicateFlagError = export_value(
    "flags.DuplicateFlagError", "app.flags.DuplicateFlagError", _absl.DuplicateFlagError
)
EnumClassFlag = export_value("flags.EnumClassFlag", "app.flags.EnumClassFlag", _absl.EnumClassFlag)
EnumClassListSerializer = export_value(
    "flags.EnumClassListSerializer",
    "app.flags.EnumClassListSerializer",
    _absl.EnumClassListSerializer,
)
EnumClassParser = export_value(
    "flags.EnumClassParser", "app.flags.EnumClassParser", _absl.EnumClassParser
)
EnumClassSerializer = export_value(
    "flags.EnumClassSerializer", "app.flags.EnumClassSerializer", _absl.EnumClassSerializer
)
EnumFlag = export_value("flags.EnumFlag", "app.flags.EnumFlag", _absl.EnumFlag)
EnumParser = export_value("flags.EnumParser", "app.flags.EnumParser", _absl.EnumParser)
Error = export_value("flags.Error", "app.flags.Error", _absl.Error)
Flag = export_value("flags.Flag", "app.flags.Flag", _absl.Flag)
FlagHolder = export_value("flags.FlagHolder", "app.flags.FlagHolder", _absl.FlagHolder)
FlagNameConflictsWithMethodError = export_value(
    "flags.FlagNameConflictsWithMethodError",
    "app.flags.FlagNameConflictsWithMethodError",
    _absl.FlagNameConflictsWithMethodError,
)
FlagValues = export_value("flags.FlagValues", "app.flags.FlagValues", _absl.FlagValues)
FloatParser = export_value("flags.FloatParser", "app.flags.FloatParser", _absl.FloatParser)
IllegalFlagValueError = export_value(
    "flags.IllegalFlagValueError", "app.flags.IllegalFlagValueError", _absl.IllegalFlagValueError
)
IntegerParser = export_value("flags.IntegerParser", "app.flags.IntegerParser", _absl.IntegerParser)
ListParser = export_value("flags.ListParser", "app.flags.ListParser", _absl.ListParser)
ListSerializer = export_value(
    "flags.ListSerializer", "app.flags.ListSerializer", _absl.ListSerializer
)
MultiEnumClassFlag = export_value(
    "flags.MultiEnumClassFlag", "app.flags.MultiEnumClassFlag", _absl.MultiEnumClassFlag
)
MultiFlag = export_value("flags.MultiFlag", "app.flags.MultiFlag", _absl.MultiFlag)
UnparsedFlagAccessError = export_value(
    "flags.UnparsedFlagAccessError",
    "app.flags.UnparsedFlagAccessError",
    _absl.UnparsedFlagAccessError,
)
UnrecognizedFlagError = export_value(
    "flags.UnrecognizedFlagError", "app.flags.UnrecognizedFlagError", _absl.UnrecognizedFlagError
)
ValidationError = export_value(
    "flags.ValidationError", "app.flags.ValidationError", _absl.ValidationError
)
WhitespaceSeparatedListParser = export_value(
    "flags.WhitespaceSeparatedListParser",
    "app.flags.WhitespaceSeparatedListParser",
    _absl.WhitespaceSeparatedListParser,
)
adopt_module_key_flags = export_value(
    "flags.adopt_module_key_flags", "app.flags.adopt_module_key_flags", _absl.adopt_module_key_flags
)
declare_key_flag = export_value(
    "flags.declare_key_flag", "app.flags.declare_key_flag", _absl.declare_key_flag
)
disclaim_key_flags = export_value(
    "flags.disclaim_key_flags", "app.flags.disclaim_key_flags", _absl.disclaim_key_flags
)
doc_to_help = export_value("flags.doc_to_help", "app.flags.doc_to_help", _absl.doc_to_help)
flag_dict_to_args = export_value(
    "flags.flag_dict_to_args", "app.flags.flag_dict_to_args", _absl.flag_dict_to_args
)
get_help_width = export_value(
    "flags.get_help_width", "app.flags.get_help_width", _absl.get_help_width
)
mark_bool_flags_as_mutual_exclusive = export_value(
    "flags.mark_bool_flags_as_mutual_exclusive",
    "app.flags.mark_bool_flags_as_mutual_exclusive",
    _absl.mark_bool_flags_as_mutual_exclusive,
)
mark_flag_as_required = export_value(
    "flags.mark_flag_as_required", "app.flags.mark_flag_as_required", _absl.mark_flag_as_required
)
mark_flags_as_mutual_exclusive = export_value(
    "flags.mark_flags_as_mutual_exclusive",
    "app.flags.mark_flags_as_mutual_exclusive",
    _absl.mark_flags_as_mutual_exclusive,
)
mark_flags_as_required = export_value(
    "flags.mark_flags_as_required", "app.flags.mark_flags_as_required", _absl.mark_flags_as_required
)
multi_flags_validator = export_value(
    "flags.multi_flags_validator", "app.flags.multi_flags_validator", _absl.multi_flags_validator
)
override_value = export_value(
    "flags.override_value", "app.flags.override_value", _absl.override_value
)
register_multi_flags_validator = export_value(
    "flags.register_multi_flags_validator",
    "app.flags.register_multi_flags_validator",
    _absl.register_multi_flags_validator,
)
register_validator = export_value(
    "flags.register_validator", "app.flags.register_validator", _absl.register_validator
)
set_default = export_value("flags.set_default", "app.flags.set_default", _absl.set_default)
text_wrap = export_value("flags.text_wrap", "app.flags.text_wrap", _absl.text_wrap)
validator = export_value("flags.validator", "app.flags.validator", _absl.validator)
