"""Dtypes of a layer's computation and of its variables."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from stillflow.graph import dtypes
from stillflow.keras.backend.config import floatx
from stillflow.layers import base_layer_utils
from stillflow.platform import tf_logging as logging

if TYPE_CHECKING:
    from stillflow.train.experimental.loss_scale import LossScale


_MIXED = {"mixed_float16": "float16", "mixed_bfloat16": "bfloat16"}
_FLOAT32_VARS = "_with_float32_vars"
_ALIASES = {"infer_float32_vars": "infer_with_float32_vars", "float32_with_float32_vars": "float32"}
USE_DEFAULT = "USE_DEFAULT"


class Policy:
    """The dtype that a layer computes in and that of its variables.

    Args:
      name: a dtype's name, or "infer" for that of the first input; followed by
        "_with_float32_vars" variables are float32. "mixed_float16" and "mixed_bfloat16" are short
        for such names.

      loss_scale: by what the loss of models is multiplied: a `LossScale`, a number, "dynamic" or
        None; by default the second last for "mixed_float16" and else the last.

    Attributes:
      compute_dtype, variable_dtype: names of dtypes, None for not known yet.

    Raises:
      TypeError: if the name is not a string.
      ValueError: if there is no such policy.
    """

    def __init__(self, name: str, loss_scale: Any = USE_DEFAULT) -> None:
        if isinstance(name, dtypes.DType):
            raise TypeError(
                f"'name' must be a string, not a DType. Instead, pass DType.name. Got: {name.name}"
            )
        if not isinstance(name, str):
            raise TypeError(f"'name' must be a string, but got: {name}")
        self._name = _ALIASES.get(name, name)
        self.compute_dtype, self.variable_dtype = _dtypes_of(self._name)
        if isinstance(loss_scale, str) and loss_scale == USE_DEFAULT:
            loss_scale = "dynamic" if name == "mixed_float16" else None
        if loss_scale and self.compute_dtype not in (None, "float16"):
            logging.warn(
                "Creating a Policy with a loss scale is only useful for float16 policies. You "
                f"passed loss_scale={loss_scale!r} for policy {name}. Consider not passing any "
                "loss_scale instead."
            )
        self.loss_scale = None if loss_scale is None else _loss_scale(loss_scale)

    @property
    def name(self) -> str:
        """The name, of aliases the one that they stand for."""
        return self._name

    @property
    def should_cast_variables(self) -> bool:
        """True if variables are read in another dtype than their own."""
        return self.variable_dtype != self.compute_dtype

    def __repr__(self) -> str:
        return f'<Policy "{self.name}", loss_scale={self.loss_scale}>'


chosen: list[Policy] = []  # the policy of layers that are given none, if one was set


def v2_dtypes() -> bool:
    """Return True if layers have Keras' default dtype and cast their inputs, as in TensorFlow 2."""
    return base_layer_utils.v2_dtype_behavior_enabled()


def policy_defaults_to_floatx() -> bool:
    """Return True if layers have Keras' default dtype without the program's choice."""
    return not chosen and v2_dtypes()


def global_policy() -> Policy:
    """Return the policy of layers that are given none."""
    if chosen:
        return chosen[0]
    return Policy(floatx() if v2_dtypes() else "infer")


def _loss_scale(identifier: Any) -> LossScale:
    return importlib.import_module("stillflow.train.experimental.loss_scale").get(identifier)


def _dtypes_of(name: str) -> tuple[str | None, str | None]:
    if name in _MIXED:
        return _MIXED[name], "float32"
    base = name.removesuffix(_FLOAT32_VARS)
    compute: str | None = None
    if base != "infer":
        try:
            compute = dtypes.as_dtype(base).name
        except TypeError:
            raise ValueError(_unknown(name, base)) from None
    return compute, compute if base == name else "float32"


def _unknown(name: str, base: str) -> str:
    message = (
        f"Cannot convert value {name} to a mixed precision Policy. Valid policies include include "
        'those in the form "<dtype>" and "<dtype>_with_float32_vars", where <dtype> is the name of '
        "a dtype."
    )
    if base != name:
        message += (
            f" The value {name} ends with _with_float32_vars, but {base} cannot be converted to a "
            "DType"
        )
    return message


def with_input_dtype(policy: Policy, dtype: Any) -> Policy:
    """Return an inferring policy once the dtype of the first input is known."""
    name = dtypes.as_dtype(dtype).name
    return Policy(name if policy.variable_dtype is None else name + _FLOAT32_VARS)
