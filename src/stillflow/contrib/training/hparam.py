"""Hyperparameters: named values of fixed types, read from text, JSON and protos."""

from __future__ import annotations

import json
import numbers
from typing import TYPE_CHECKING, Any

from stillflow.contrib.training.hparam_text import parse_values
from stillflow.graph.collection_protos import register_proto_function
from stillflow.graph.export import export
from stillflow.platform import compat
from stillflow.protos import HParamDef
from stillflow.util.notices import noticed

# The field of `HParamDef.HParamType` for values of a type, the first that matches.
_KINDS = ((bool, "bool"), (int, "int64"), ((str, bytes), "bytes"), (float, "float"))


def _kind_of(kind: type, is_list: bool) -> str:
    for types, name in _KINDS:
        if issubclass(kind, types):
            return f"{name}_{'list' if is_list else 'value'}"
    raise ValueError(f"Unsupported parameter type: {kind}")


def _cast(name: str, kind: Any, value: Any) -> Any:
    """Return the value in the type of its hyperparameter, if nothing is lost by that.

    ValueError: text for a number, a number for text, a bool for a number, a float for an int.
    """
    if type(value) is kind or issubclass(kind, type(None)):
        return value
    text = (str, bytes)
    fits = (
        issubclass(kind, bool) == isinstance(value, bool)
        and (not issubclass(kind, text) or isinstance(value, text))
        and all(
            not issubclass(kind, wide) or isinstance(value, wide)
            for wide in (numbers.Integral, numbers.Number)
        )
    )
    if not fits:
        raise ValueError(f"Could not cast hparam '{name}' of type '{kind}' from value {value!r}")
    return kind(value)


@export("contrib.training.HParams")
class HParams:
    """Hyperparameters, which are attributes too.

    Args:
      hparam_def: an `HParamDef` to read them from.
      model_structure: kept for the program, `get_model_structure` gives it back.
      **kwargs: {name: value}; the value's type stays the hyperparameter's, and that of a list's
        first element is the type of all.

    Raises:
      ValueError: both a proto and values; a name or a list that cannot be.

    Example:
      >>> hparams = tf.contrib.training.HParams(rate=0.1, sizes=[64, 32])
      >>> hparams.parse("rate=0.01,sizes=[128,64]").values()
      {'rate': 0.01, 'sizes': [128, 64]}
    """

    if TYPE_CHECKING:  # a hyperparameter

        def __getattr__(self, name: str) -> Any: ...

    def __init__(self, hparam_def: Any = None, model_structure: Any = None, **kwargs: Any) -> None:
        self._hparam_types: dict[str, tuple[type, bool]] = {}
        self._model_structure = model_structure
        if hparam_def and kwargs:
            raise ValueError("hparam_def and initialization values are mutually exclusive")
        for name, value in (_read(hparam_def) if hparam_def else kwargs).items():
            self.add_hparam(name, value)

    def add_hparam(self, name: str, value: Any) -> None:
        """Add a hyperparameter.

        Raises:
          ValueError: if the name is taken, or the value an empty list.
        """
        if getattr(self, name, None) is not None:
            raise ValueError(f"Hyperparameter name is reserved: {name}")
        several = isinstance(value, (list, tuple))
        if several and not value:
            raise ValueError(f"Multi-valued hyperparameters cannot be empty: {name}")
        self._hparam_types[name] = (type(value[0] if several else value), several)
        setattr(self, name, value)

    def set_hparam(self, name: str, value: Any) -> None:
        """Change a hyperparameter.

        Raises:
          KeyError: there is none of that name.
          ValueError: the value is of another type.
        """
        kind, several = self._hparam_types[name]
        is_list = isinstance(value, list)
        if several and not is_list:
            raise ValueError(f"Must pass a list for multi-valued parameter: {name}.")
        if is_list and not several:
            raise ValueError(f"Must not pass a list for single-valued parameter: {name}")
        elements = [_cast(name, kind, element) for element in (value if several else [value])]
        setattr(self, name, elements if several else elements[0])

    def del_hparam(self, name: str) -> None:
        """Remove a hyperparameter, if there is one of that name."""
        if hasattr(self, name):
            delattr(self, name)
            del self._hparam_types[name]

    def parse(self, values: str) -> HParams:
        """Change hyperparameters as text says (see `parse_values`); give itself back."""
        types = {name: kind for name, (kind, _) in self._hparam_types.items()}
        return self.override_from_dict(parse_values(values, types))

    def override_from_dict(self, values_dict: dict[str, Any]) -> HParams:
        """Change hyperparameters as {name: value} says; give itself back."""
        for name, value in values_dict.items():
            self.set_hparam(name, value)
        return self

    @noticed("contrib.training.HParams")
    def set_from_map(self, values_map: dict[str, Any]) -> HParams:
        """Return the same under its former name."""
        return self.override_from_dict(values_dict=values_map)

    def set_model_structure(self, model_structure: Any) -> None:
        """Keep an object for the program."""
        self._model_structure = model_structure

    def get_model_structure(self) -> Any:
        """Return the object that is kept for the program."""
        return self._model_structure

    def to_json(self, indent: Any = None, separators: Any = None, sort_keys: bool = False) -> str:
        """All values as a JSON object; the arguments are those of `json.dumps`."""
        return json.dumps(self.values(), indent=indent, separators=separators, sort_keys=sort_keys)

    def parse_json(self, values_json: str) -> HParams:
        """Change hyperparameters as a JSON object says; give itself back."""
        return self.override_from_dict(json.loads(values_json))

    def values(self) -> dict[str, Any]:
        """{name: value}."""
        return {name: getattr(self, name) for name in self._hparam_types}

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value of a hyperparameter, or the default if there is none of that name.

        Raises:
          ValueError: the default is of another type than the hyperparameter.
        """
        if key not in self._hparam_types:
            return default
        if default is not None:
            self._check_default(key, default)
        return getattr(self, key)

    def _check_default(self, key: str, default: Any) -> None:
        kind, several = self._hparam_types[key]
        shown = f"list<{kind}>" if several else str(kind)
        message = f"Hparam '{key}' of type '{shown}' is incompatible with default={default}"
        if several != isinstance(default, list):
            raise ValueError(message)
        try:
            for value in default if several else [default]:
                _cast(key, kind, value)
        except ValueError as error:
            raise ValueError(f"{message}. {error}") from error

    def __contains__(self, key: str) -> bool:
        return key in self._hparam_types

    def __str__(self) -> str:
        return ",".join(f"{name}={value}" for name, value in self.values().items())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({sorted(self.values().items())})"

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Return the hyperparameters as an `HParamDef`.

        Raises:
          ValueError: a value is neither a bool, an int, a float nor text.
        """
        message: Any = HParamDef()
        for name, (kind, several) in self._hparam_types.items():
            field, value = _kind_of(kind, several), getattr(self, name)
            if field.startswith("bytes"):
                value = [*map(compat.as_bytes, value)] if several else compat.as_bytes(value)
            if several:
                getattr(message.hparam[name], field).value.extend(value)
            else:
                setattr(message.hparam[name], field, value)
        return message

    @staticmethod
    def from_proto(hparam_def: Any, import_scope: str | None = None) -> HParams:
        """Return the hyperparameters of an `HParamDef`."""
        return HParams(hparam_def=hparam_def)


def _read(message: Any) -> dict[str, Any]:
    """{name: value or list of values} of an `HParamDef`."""
    assert isinstance(message, HParamDef)
    values: dict[str, Any] = {}
    for name, holder in message.hparam.items():
        kind = holder.WhichOneof("kind")
        given = getattr(holder, kind)
        elements = list(given.value) if kind.endswith("_list") else [given]
        if kind.startswith("bytes"):
            elements = [compat.as_str(element) for element in elements]
        values[name] = elements if kind.endswith("_list") else elements[0]
    return values


register_proto_function(
    "hparams", proto_type=HParamDef, to_proto=HParams.to_proto, from_proto=HParams.from_proto
)
