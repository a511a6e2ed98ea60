"""``tensorflow.python.pywrap_tensorflow``: what programs call of TensorFlow's compiled part."""

from __future__ import annotations

from typing import Any


def TF_bfloat16_type() -> Any:
    """Return NumPy's type of bfloat16 numbers."""
    from stillflow.graph.dtypes import bfloat16

    return bfloat16.as_numpy_dtype
