"""Data of a program for a model, as lists of arrays and tensors; and their checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import stillflow as tf
from stillflow.graph.arrays import Array
from stillflow.keras.engine import composites
from stillflow.keras.engine.endpoints import compares_with
from stillflow.keras.losses import classes, functions
from stillflow.keras.losses.base import LossFunctionWrapper
from stillflow.keras.utils.generic import check_for_unexpected_keys

_SAME_SHAPE = (
    (classes.MeanSquaredError, functions.mean_squared_error),
    (classes.BinaryCrossentropy, functions.binary_crossentropy),
    (classes.CategoricalCrossentropy, functions.categorical_crossentropy),
)


def is_composite(x: Any) -> bool:
    """Return True if data consist of several arrays or tensors, as sparse ones and SciPy's do."""
    return composites.is_composite(x) or hasattr(x, "tocoo")


def _values(x: Any) -> Any:
    """Return a table of pandas as an array."""
    return x.values if type(x).__name__ in ("DataFrame", "Series") else x


def _with_two_dimensions(x: Any, shape: Any) -> Any:
    """Return a vector as a matrix of one column, unless a vector is expected."""
    if x is None or is_composite(x):
        return x
    if isinstance(x, int):
        raise ValueError(f"Expected an array data type but received an integer: {x}")
    vector = x.shape is not None and len(x.shape) == 1
    if vector and (shape is None or len(shape) != 1):
        return tf.expand_dims(x, axis=1) if tf.is_tensor(x) else np.expand_dims(x, 1)
    return x


def _as_list(data: Any, names: list[str]) -> list[Any]:
    if isinstance(data, dict):
        missing = [name for name in names if name not in data]
        if missing:
            raise ValueError(
                f'No data provided for "{missing[0]}". Need data for each key in: {names}'
            )
        return [_values(data[name]) for name in names]
    if isinstance(data, (list, tuple)):
        if isinstance(data[0], (list, tuple)):
            return [np.asarray(item) for item in data]
        if len(names) == 1 and isinstance(data[0], (float, int)):
            return [np.asarray(data)]
        return [_values(item) for item in data]
    return [_values(data)]


def standardize(data: Any, names: list[str], shapes: Any, prefix: str) -> list[Any]:
    """Return data, one, a list or by name, as a list with an array or tensor for each name.

    `shapes` may be None for any; the number of examples is not looked at. `prefix` is "input" or
    "target", for the ValueErrors.
    """
    if not names:
        if data is not None and getattr(data, "__len__", int)() and not isinstance(data, dict):
            raise ValueError(
                f"Error when checking model {prefix}: expected no data, but got:", data
            )
        return []
    if data is None:
        return [None] * len(names)
    arrays = _as_list(data, names)
    wanted = shapes if shapes is not None else [None] * len(arrays)
    arrays = [_with_two_dimensions(x, s) for x, s in zip(arrays, wanted, strict=False)] + (
        arrays[len(wanted) :]
    )
    if len(arrays) != len(names):
        arrays = _other_count(arrays, names, prefix)
    for name, x, shape in zip(names, arrays, shapes or (), strict=False):
        if shape is not None:
            _check_shape(name, x, shape, prefix)
    return arrays


def _other_count(arrays: list[Any], names: list[str], prefix: str) -> list[Any]:
    if arrays and hasattr(arrays[0], "shape"):
        raise ValueError(
            f"Error when checking model {prefix}: the list of Numpy arrays that you are passing to "
            f"your model is not the size the model expected. Expected to see {len(names)} "
            f"array(s), but instead got the following list of {len(arrays)} arrays: "
            f"{str(arrays)[:200]}..."
        )
    if len(names) > 1:
        raise ValueError(
            f"Error when checking model {prefix}: you are passing a list as input to your model, "
            f"but the model expects a list of {len(names)} Numpy arrays instead. The list you "
            f"passed was: {str(arrays)[:200]}"
        )
    return [np.asarray(arrays)]


def _check_shape(name: str, x: Any, shape: Any, prefix: str) -> None:
    found = x.dense_shape if isinstance(x, tf.SparseTensorValue) else x.shape
    if hasattr(found, "as_list"):
        if found.ndims is None:
            return
        found = found.as_list()
    found = tuple(found)
    if len(found) != len(shape):
        raise ValueError(
            f"Error when checking {prefix}: expected {name} to have {len(shape)} dimensions, but "
            f"got array with shape {found}"
        )
    found, shape = found[1:], tuple(shape[1:])
    for size, wanted in zip(found, shape, strict=True):
        if None not in (size, wanted) and size != wanted:
            raise ValueError(
                f"Error when checking {prefix}: expected {name} to have shape {shape} but got "
                f"array with shape {found}"
            )


def by_output(weights: Any, names: list[str], kind: str) -> list[Any]:
    """Return weights of examples or classes as a list with an item for each output.

    `kind` is "sample_weight" or "class_weight", for messages.
    """
    if weights is None or (isinstance(weights, (list, tuple)) and len(weights) == 0):
        return [None] * len(names)
    if len(names) == 1:
        if isinstance(weights, (list, tuple)) and len(weights) == 1:
            return list(weights)
        if isinstance(weights, dict) and names[0] in weights:
            return [weights[names[0]]]
        return [weights]
    if isinstance(weights, (list, tuple)):
        if len(weights) != len(names):
            raise ValueError(
                f"Provided `{kind}` was a list of {len(weights)} elements, but the model has "
                f"{len(names)} outputs. You should provide one `{kind}`array per model output."
            )
        return list(weights)
    if isinstance(weights, Mapping):
        check_for_unexpected_keys(kind, weights, names)
        return [weights.get(name) for name in names]
    raise TypeError(
        f"The model has multiple outputs, so `{kind}` should be either a list or a dict. Provided "
        f"`{kind}` type not understood: {weights}"
    )


def example_weights(
    y: Any,
    sample_weight: Any = None,
    class_weight: Any = None,
    sample_weight_mode: str | None = None,
) -> Array | None:
    """Return the weights of an output's examples, or None, for the target `y`.

    `sample_weight` is of each example, or of each step in "temporal" mode (the other is
    "samplewise"); `class_weight` is of each class, in a dictionary. ValueError if shapes do not fit
    or a class has no weight.
    """
    if isinstance(sample_weight, tuple):
        sample_weight = sample_weight[0]
    if sample_weight is not None or sample_weight_mode not in (None, "samplewise"):
        _check_weights(y, sample_weight, sample_weight_mode)
    of_classes = _weights_of_classes(y, class_weight) if isinstance(class_weight, dict) else None
    if of_classes is not None and sample_weight is not None:
        return of_classes * sample_weight
    return of_classes if sample_weight is None else sample_weight


def _check_weights(y: Any, weights: Any, mode: str | None) -> None:
    is_temporal = mode not in (None, "samplewise")
    if is_temporal and mode != "temporal":
        raise ValueError(f'"sample_weight_mode should be None or "temporal". Found: {mode}')
    if is_temporal and len(y.shape) < 3:
        raise ValueError(
            f"Found a sample_weight array for an input with shape {y.shape}. Timestep-wise "
            'sample weighting (use of sample_weight_mode="temporal") is restricted to outputs '
            "that are at least 3D, i.e. that have a time dimension."
        )
    if weights is None:
        return
    found, rank = f"Found a sample_weight array with shape {weights.shape}", len(weights.shape)
    if is_temporal and rank != 2:
        raise ValueError(
            f"{found}. In order to use timestep-wise sample weighting, you should pass a 2D "
            "sample_weight array."
        )
    if not is_temporal and rank != 1:
        raise ValueError(
            f"{found}. In order to use timestep-wise sample weights, you should specify "
            'sample_weight_mode="temporal" in compile(). '
            "If you just mean to use sample-wise weights, make sure your sample_weight array is 1D."
        )
    if rank > len(y.shape):
        raise ValueError(
            f"Found a sample_weight with shape{weights.shape}.Expected sample_weight with rank "
            f"less than or equal to {len(y.shape)}"
        )
    if not tf.is_tensor(weights) and y.shape[: weights.ndim] != weights.shape:
        raise ValueError(
            f"{found} for an input with shape {y.shape}. sample_weight cannot be broadcast."
        )


def _weights_of_classes(y: Any, class_weight: dict[Any, Any]) -> np.ndarray:
    if len(y.shape) > 2:
        raise ValueError("`class_weight` not supported for 3+ dimensional targets.")
    numbers = y
    if len(y.shape) == 2:
        numbers = np.argmax(y, axis=1) if y.shape[1] > 1 else np.reshape(y, y.shape[0])
    weights = np.asarray([class_weight[n] for n in numbers if n in class_weight])
    if len(weights) != len(numbers):
        raise ValueError(
            "`class_weight` must contain all classes in the data. The classes "
            f"{set(numbers) - set(class_weight)} exist in the data but not in `class_weight`."
        )
    return weights


def check_lengths(inputs: Any, targets: Any, weights: Any) -> None:
    """Raise ValueError for data of different numbers of examples."""

    def lengths(arrays: Any) -> set[int]:
        known = [x for x in arrays or () if x is not None]
        return {x.shape[0] for x in known if not (tf.is_tensor(x) or is_composite(x))}

    of_x, of_y, of_w = lengths(inputs), lengths(targets), lengths(weights)
    if len(of_x) > 1:
        raise ValueError(
            "All input arrays (x) should have the same number of samples. Got array shapes: "
            f"{[x.shape for x in inputs]}"
        )
    if len(of_y) > 1:
        raise ValueError(
            "All target arrays (y) should have the same number of samples. Got array shapes: "
            f"{[y.shape for y in targets]}"
        )
    if of_x and of_y and of_x != of_y:
        raise ValueError(
            "Input arrays should have the same number of samples as target arrays. Found "
            f"{of_x.pop()} input samples and {of_y.pop()} target samples."
        )
    if len(of_w) > 1:
        raise ValueError(
            "All sample_weight arrays should have the same number of samples. Got array shapes: "
            f"{[w.shape for w in weights]}"
        )
    if of_y and of_w and of_y != of_w:
        raise ValueError(
            "Sample_weight arrays should have the same number of samples as target arrays. Got "
            f"{of_y.pop()} input samples and {of_w.pop()} target samples."
        )


def check_targets(targets: Any, losses: list[Any], shapes: list[Any]) -> None:
    """Raise ValueError for targets that do not fit the losses."""
    for y, loss, shape in zip(targets, losses, shapes, strict=False):
        if y is None or loss is None or tf.is_tensor(y):
            continue
        categorical = compares_with(
            loss, classes.CategoricalCrossentropy, functions.categorical_crossentropy
        )
        if categorical and y.shape[-1] == 1:
            raise ValueError(_NOT_CATEGORICAL.format(y.shape))
        if not any(compares_with(loss, kind, function) for kind, function in _SAME_SHAPE):
            continue
        for size, wanted in zip(y.shape[1:], shape[1:], strict=False):
            if wanted is not None and size != wanted:
                wrapped = isinstance(loss, LossFunctionWrapper)
                name = loss.name or (loss.fn if wrapped else type(loss)).__name__
                raise ValueError(
                    f"A target array with shape {y.shape} was passed for an output of shape "
                    f"{shape} while using as loss `{name}`. This loss expects targets to have the "
                    "same shape as the output."
                )


_NOT_CATEGORICAL = (
    "You are passing a target array of shape {} while using as loss `categorical_crossentropy`. "
    "`categorical_crossentropy` expects targets to be binary matrices (1s and 0s) of shape "
    "(samples, classes). If your targets are integer classes, you can convert them to the expected "
    "format via:\n```\nfrom keras.utils import to_categorical\ny_binary = to_categorical(y_int)\n"
    "```\n\nAlternatively, you can use the loss function `sparse_categorical_crossentropy` "
    "instead, which does expect integer targets."
)
