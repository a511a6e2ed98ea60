"""``tensorflow.python.pywrap_tensorflow``: what programs call of TensorFlow's compiled part."""

from __future__ import annotations

from typing import Any


class ScopedTFStatus:
    """The status of a call into TensorFlow's compiled part, where there are no calls into."""


def DeleteFile(filename: Any) -> None:
    """Delete a file.

    Raises:
      NotFoundError: it is not there.
    """
    from stillflow.files import gfile

    gfile.delete_file(filename)


def TF_bfloat16_type() -> Any:
    """Return NumPy's type of bfloat16 numbers."""
    from stillflow.graph.dtypes import bfloat16

    return bfloat16.as_numpy_dtype
