"""Sequences as batches.

The names of `keras_preprocessing` are passed on unchanged, as by TensorFlow 1.15; its own
`pad_sequences` needs a type that NumPy 2 does not have any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras_preprocessing.sequence as library
import numpy as np
from keras_preprocessing.sequence import make_sampling_table, skipgrams
from numpy.typing import NDArray

from stillflow._export import export
from stillflow.keras.utils import sequences as batches

export("keras.preprocessing.sequence.make_sampling_table")(make_sampling_table)
export("keras.preprocessing.sequence.skipgrams")(skipgrams)


@export("keras.preprocessing.sequence.TimeseriesGenerator")
class TimeseriesGenerator(library.TimeseriesGenerator, batches.Sequence):
    """Windows of a series, each with the next values, in batches."""


@export("keras.preprocessing.sequence.pad_sequences")
def pad_sequences(
    sequences: Sequence[Any],
    maxlen: int | None = None,
    dtype: Any = "int32",
    padding: str = "pre",
    truncating: str = "pre",
    value: Any = 0.0,
) -> NDArray[Any]:
    """Return lists of different lengths as the rows of an array.

    Args:
      sequences: the lists.
      maxlen: the rows' length; that of the longest list by default.
      dtype: of the array; `object` for strings of different lengths.
      padding: "pre" or "post", where rows are filled up.
      truncating: "pre" or "post", where lists are cut.
      value: the padding value.

    Raises:
      ValueError: for something else than lists of items of one shape, or an unknown side.
    """
    if not hasattr(sequences, "__len__"):
        raise ValueError("`sequences` must be iterable.")
    for sequence in sequences:
        if not hasattr(sequence, "__len__"):
            raise ValueError(
                f"`sequences` must be a list of iterables. Found non-iterable: {sequence}"
            )
    if truncating not in ("pre", "post"):
        raise ValueError(f'Truncating type "{truncating}" not understood')
    if padding not in ("pre", "post"):
        raise ValueError(f'Padding type "{padding}" not understood')
    text = np.issubdtype(dtype, np.str_)
    if isinstance(value, str) and dtype is not object and dtype != "object" and not text:
        raise ValueError(
            f"`dtype` {dtype} is not compatible with `value`'s type: {type(value)}\n"
            "You should set `dtype=object` for variable length strings."
        )
    shape = next((np.asarray(one).shape[1:] for one in sequences if len(one)), ())
    length = max(len(one) for one in sequences) if maxlen is None else maxlen
    padded = np.full((len(sequences), length, *shape), value, dtype=dtype)
    for index, sequence in enumerate(sequences):
        kept = sequence[-length:] if truncating == "pre" else sequence[:length]
        items = np.asarray(kept, dtype=dtype)
        if not len(sequence) or not len(items):
            continue
        if items.shape[1:] != shape:
            raise ValueError(
                f"Shape of sample {items.shape[1:]} of sequence at position {index} is different "
                f"from expected shape {shape}"
            )
        if padding == "post":
            padded[index, : len(items)] = items
        else:
            padded[index, -len(items) :] = items
    return padded
