"""Command-line inputs of a SavedModel: arrays in files, Python expressions, examples."""

from __future__ import annotations

import ast
import io
import re
import warnings
from typing import Any

import numpy as np

from stillflow.files.file_io import FileIO
from stillflow.protos import Example
from stillflow.tools import expressions
from stillflow.util import pickles


def preprocess_inputs_arg_string(inputs_str: str) -> dict[str, tuple[str, str | None]]:
    """Parse `key=file;other=file[name]`: files by key, and the names of arrays in them or None."""
    found: dict[str, tuple[str, str | None]] = {}
    for text in filter(bool, inputs_str.split(";")):
        match = re.match(r"([^=]+)=([^\[\]]+)(?:\[([^\[\]]+)\])?$", text)
        if match is None:
            raise RuntimeError(
                f'--inputs "{text}" format is incorrect. Please follow"<input_key>=<filename>", '
                'or"<input_key>=<filename>[<variable_name>]"'
            )
        found[match[1]] = match[2], match[3]
    return found


def preprocess_input_exprs_arg_string(
    input_exprs_str: str, safe: bool = False, allow_python: bool = False
) -> dict[str, Any]:
    """Evaluate `key=expression;other=expression`; NumPy is `np` in them.

    Expressions are literals if `safe`; else array constructors, or any if `allow_python`.
    """
    found: dict[str, Any] = {}
    for text in filter(bool, input_exprs_str.split(";")):
        key, sign, expression = text.partition("=")
        if not sign:
            raise RuntimeError(
                f'--input_exprs "{input_exprs_str}" format is incorrect. Please follow'
                '"<input_key>=<python expression>"'
            )
        found[key] = _literal(expression) if safe else _value(expression, allow_python)
    return found


def _value(expression: str, allow_python: bool) -> list[str]:
    if allow_python:
        return eval(expression, {"np": np})
    try:
        return expressions.evaluate(expression)
    except ValueError as error:
        raise RuntimeError(
            f'Expression "{expression}" is not allowed: {error} '
            "--allow_python evaluates any Python; use it for expressions of your own alone."
        ) from None


def _literal(expression: str) -> Any:
    try:
        return ast.literal_eval(expression)
    except (ValueError, SyntaxError):
        raise RuntimeError(f'Expression "{expression}" is not a valid python literal.') from None


def preprocess_input_examples_arg_string(input_examples_str: str) -> dict[str, list[bytes]]:
    """Make serialized `tf.train.Example`s of `key=[{feature: values, ...}, ...]`."""
    found = preprocess_input_exprs_arg_string(input_examples_str, safe=True)
    for examples in found.values():
        if not isinstance(examples, list):
            raise ValueError(
                "tf.Example input must be a list of dictionaries, but "
                f'"{examples}" is {type(examples)}'
            )
    return {key: [_serialized(each) for each in examples] for key, examples in found.items()}


def _serialized(features: dict[str, Any]) -> bytes:
    example = Example()
    for name, values in features.items():
        if not isinstance(values, list):
            raise ValueError(
                f'feature value must be a list, but {name}: "{values}" is {type(values)}'
            )
        feature = example.features.feature[name]
        first = values[0]
        if isinstance(first, float):
            feature.float_list.value.extend(values)
        elif isinstance(first, (str, bytes)):
            feature.bytes_list.value.extend(
                value.encode() if isinstance(value, str) else value for value in values
            )
        elif isinstance(first, int):
            feature.int64_list.value.extend(values)
        else:
            raise ValueError(
                f"Type {type(first)} for value {first} is not supported for tf.train.Feature."
            )
    return example.SerializeToString()


def load_inputs_from_input_arg_string(
    inputs_str: str, input_exprs_str: str, input_examples_str: str, allow_python: bool = False
) -> dict[str, Any]:
    """Return the values of inputs by key; later arguments win over earlier ones, with a warning.

    See the functions `preprocess_...` here. RuntimeError if a file has not the array, or several
    and none is named.
    """
    files = preprocess_inputs_arg_string(inputs_str)
    evaluated = preprocess_input_exprs_arg_string(input_exprs_str, allow_python=allow_python)
    examples = preprocess_input_examples_arg_string(input_examples_str)
    found = {key: _array(file, name) for key, (file, name) in files.items()}
    for key, value in evaluated.items():
        if key in found:
            warnings.warn(
                f"input_key {key} has been specified with both --inputs and --input_exprs options. "
                "Value in --input_exprs will be used.",
                stacklevel=2,
            )
        found[key] = value
    for key, serialized in examples.items():
        if key in found:
            warnings.warn(
                f"input_key {key} has been specified in multiple options. Value in "
                "--input_examples will be used.",
                stacklevel=2,
            )
        found[key] = serialized
    return found


def _array(path: str, name: str | None) -> Any:
    data = _load(path)
    if isinstance(data, np.lib.npyio.NpzFile):
        names = data.files
        if name is None and len(names) != 1:
            raise RuntimeError(
                f"Input file {path} contains more than one ndarrays. Please specify the name of "
                "ndarray to use."
            )
        return data[_known(name or names[0], names, path)]
    if name is None:
        return data
    if isinstance(data, np.ndarray):
        warnings.warn(
            f'Input file {path} contains a single ndarray. Name key "{name}" ignored.',
            stacklevel=2,
        )
        return data
    return data[_known(name, data, path)]


def _known(name: str, names: Any, path: str) -> str:
    if name not in names:
        raise RuntimeError(f'Input file {path} does not contain variable with name "{name}".')
    return name


def _load(path: str) -> Any:
    """Return the content of a file of NumPy's, or of a pickle of arrays."""
    with FileIO(path, "rb") as file:
        content = file.read()
    if content.startswith((b"\x93NUMPY", b"PK")):
        return np.load(io.BytesIO(content))
    return pickles.loads(content, pickles.ARRAYS, "a pickle of arrays")
