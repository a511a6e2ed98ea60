"""Configurations of models as YAML, written and read without running code."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

import numpy as np

_TAG = "tag:yaml.org,2002:python/"
_TRACKED = _TAG + "object/apply:tensorflow.python.training.tracking.data_structures."


def dump(config: Any, **kwargs: Any) -> str:
    """Return a configuration as YAML; arguments are those of `yaml.dump`.

    Tuples get TensorFlow's tag, `!!python/tuple`. ImportError without PyYAML, TypeError for a value
    that is no plain one: no other program could read it safely.
    """
    return str(_yaml().dump(_plain(config, {}), **kwargs))


def load(text: Any) -> Any:
    """Return the configuration in a YAML text that TensorFlow, Keras or `dump` wrote.

    Numbers, strings, lists, mappings and tuples are read. A tag that makes an object or calls a
    function, which PyYAML's unsafe loader would run, is a yaml.YAMLError. ImportError without
    PyYAML.
    """
    return _yaml().load(text, Loader=_loader())


def _yaml() -> Any:
    try:
        return importlib.import_module("yaml")
    except ImportError:
        raise ImportError(
            "Requires yaml module installed (`pip install pyyaml`).\n"
            "The extra `keras` brings it: pip install 'stillflow[keras]'"
        ) from None


def _plain(value: Any, known: dict[int, Any]) -> Any:
    """Return a value of Python's own types, as far as YAML has a form for it.

    `known` are results for lists and dictionaries by `id`: YAML tells which are the same.
    """
    if id(value) in known:
        return known[id(value)]
    if isinstance(value, dict):
        mapping = known[id(value)] = {}
        mapping.update((_plain(key, known), _plain(item, known)) for key, item in value.items())
        return mapping
    if isinstance(value, tuple):
        return tuple(_plain(item, known) for item in value)
    if isinstance(value, (list, set, frozenset)):
        items = known[id(value)] = []
        items.extend(_plain(item, known) for item in value)
        return items
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return kind(value)
    if hasattr(value, "get_config"):
        return {"class_name": type(value).__name__, "config": _plain(value.get_config(), {})}
    if callable(value):
        return value.__name__
    if value is None:
        return None
    raise TypeError(f"Not YAML Serializable: {value!r}")


@cache
def _loader() -> type[Any]:
    """Return the safe loader with tuples and the plain types as Python 2 and 3 tag them."""
    yaml = _yaml()

    class Loader(yaml.SafeLoader):  # type: ignore[name-defined]
        """PyYAML's safe loader, which knows tuples as well."""

    def tuple_of(loader: Any, node: Any) -> tuple[Any, ...]:
        return tuple(loader.construct_sequence(node, deep=True))

    def first_argument(loader: Any, node: Any) -> Any:
        return loader.construct_sequence(node, deep=True)[0]

    Loader.add_constructor(_TAG + "tuple", tuple_of)
    # TensorFlow's lists and dictionaries that track their contents, as its `to_yaml` writes them.
    for name in ("ListWrapper", "_DictWrapper"):
        Loader.add_constructor(_TRACKED + name, first_argument)
    for names, construct in (
        (("str", "unicode"), Loader.construct_yaml_str),
        (("int", "long"), Loader.construct_yaml_int),
        (("float",), Loader.construct_yaml_float),
        (("bool",), Loader.construct_yaml_bool),
        (("none",), Loader.construct_yaml_null),
        (("list",), Loader.construct_yaml_seq),
        (("dict",), Loader.construct_yaml_map),
    ):
        for name in names:
            Loader.add_constructor(_TAG + name, construct)
    return Loader
