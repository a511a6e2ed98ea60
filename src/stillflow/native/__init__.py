"""Loops that neither NumPy nor torch has, in C: optional, and never the only way to a result.

The sources are built into one shared library while the package is installed, if a C compiler is
available (`tools/build_native.py`). A caller of a native loop asks `library()` first and has
another implementation when it returns None: slower, with the same result. `STILLFLOW_NATIVE=0`
always selects the other one.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
import zlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

FOLDER = Path(__file__).resolve().parent
NAMES = {"win32": "stillflow_native.dll", "darwin": "stillflow_native.dylib"}
FILE = NAMES.get(sys.platform, "stillflow_native.so")

_POINTER, _INT, _DOUBLE = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double
_Types = dict[str, tuple[Any, tuple[Any, ...]]]  # name -> (result, arguments)
# Loops that release the GIL.
_LONG: _Types = {
    "batch_norm_train": (
        _INT,
        (_POINTER, _INT, _INT, _POINTER, _POINTER, _DOUBLE, _POINTER, _INT, *4 * (_POINTER,), _INT),
    ),
    "batch_norm_gradient": (
        _INT,
        (*3 * (_POINTER,), _INT, _INT, *3 * (_POINTER,), _DOUBLE, *3 * (_POINTER,), _INT),
    ),
    "resize_bilinear": (None, (_POINTER, *4 * (_INT,), _POINTER, _INT, *3 * (_POINTER,), _INT)),
    "resize_bilinear_gradient": (None, (_POINTER, *4 * (_INT,), *3 * (_POINTER,), _INT)),
    "resize_nearest": (None, (_POINTER, *4 * (_INT,), *2 * (_POINTER, _INT), _POINTER, _INT)),
    "resize_nearest_gradient": (
        None,
        (_POINTER, *4 * (_INT,), *2 * (_POINTER, _INT), _POINTER, _INT),
    ),
    "sample_images": (None, (_POINTER, *4 * (_INT,), _POINTER, _INT, _POINTER, _INT)),
    "sample_images_gradient": (
        None,
        (_POINTER, *4 * (_INT,), _POINTER, _INT, *3 * (_POINTER,), _INT),
    ),
    "interpolate_chroma": (None, (_POINTER, *9 * (_INT,), _POINTER)),
    "unpack_gif": (_INT, (_POINTER, *2 * (_INT,), _POINTER, _INT)),
    "crop_gradient_of_images": (
        None,
        (_POINTER, *4 * (_INT,), _POINTER, _INT, *3 * (_POINTER,), _INT),
    ),
    "crop_gradient_of_boxes": (
        None,
        (*2 * (_POINTER,), *4 * (_INT,), _POINTER, _INT, *3 * (_POINTER,), _INT),
    ),
    "adjust_colours": (None, (_POINTER, *2 * (_INT,), _DOUBLE, _INT, _POINTER, _INT)),
    "extract_patches": (None, (_POINTER, _INT, *2 * (_POINTER,), _INT, _POINTER, _INT)),
    "dilate": (None, (_POINTER, _INT, *2 * (_POINTER,), _INT, *3 * (_POINTER,), _INT)),
    "find_largest": (None, (_POINTER, *5 * (_INT,), _POINTER, _INT)),
    "ctc_losses": (_INT, (*4 * (_POINTER,), _INT)),
    "choose_items": (None, (*2 * (_POINTER,), _INT, _POINTER, *4 * (_INT,), _POINTER, _INT)),
    "transpose_blocks": (None, (_POINTER, *4 * (_INT,), _POINTER, _INT)),
    "multiply_sparse": (
        _INT,
        (*2 * (_POINTER,), *2 * (_INT,), _POINTER, *2 * (_INT,), _POINTER, *2 * (_INT,)),
    ),
    "zeta_of_whole": (_INT, (_INT, _POINTER, _INT, _DOUBLE, _POINTER, _INT)),
    "zeta_of_any": (_INT, (*2 * (_POINTER,), _INT, _POINTER, _INT)),
    "gamma_series": (None, (*2 * (_POINTER,), _INT, *2 * (_POINTER,), _INT)),
    "gamma_fractions": (None, (*2 * (_POINTER,), _INT, *2 * (_POINTER,), _INT)),
    "beta_fractions": (None, (*3 * (_POINTER,), _INT, _POINTER, _INT)),
    "weighted_sums": (None, (_POINTER, *4 * (_INT,), *2 * (_POINTER,), _INT)),
    "histogram_summaries": (_INT, (_POINTER, _INT, *3 * (_POINTER,), _INT)),
    "counted_summaries": (_INT, (_POINTER, _INT, *4 * (_POINTER,))),
    "lstm_forward": (
        None,
        (*2 * (_INT,), *2 * (_POINTER,), *2 * (_DOUBLE,), *3 * (_POINTER,), *2 * (_INT,)),
    ),
    "lstm_backward": (None, (*2 * (_INT,), *4 * (_POINTER,), _INT, *6 * (_POINTER,), _INT)),
    "gru_layer": (None, (_POINTER,)),
    "gru_layer_gradient": (None, (_POINTER,)),
    "lstm_layer": (None, (_POINTER,)),
    "lstm_layer_gradient": (None, (_POINTER,)),
    "max_pool": (None, (*4 * (_POINTER,), _INT)),
    "max_pool_gradient": (None, (*4 * (_POINTER,), _INT)),
    "check_pieces": (_INT, (*3 * (_POINTER,), _INT, _POINTER)),
    "copy_pieces": (None, (*3 * (_POINTER,), _INT, _POINTER)),
    "add_bias_relu": (_INT, (_POINTER, _INT, _INT, _POINTER, _POINTER, _INT)),
    "bias_relu_gradient": (_INT, (_POINTER, _POINTER, _INT, _INT, _POINTER, _POINTER, _INT)),
    "relu_gradient_of_sum": (None, (*3 * (_POINTER,), _INT, _POINTER, _INT)),
    "relu6_gradient": (None, (*2 * (_POINTER,), _INT, _POINTER, _INT)),
    "elu_gradient": (None, (*2 * (_POINTER,), _INT, _POINTER, _INT)),
    "update_variables": (_INT, (_POINTER, *2 * (_INT,), _POINTER, _INT)),
    "square_roots": (None, (*2 * (_POINTER,), *2 * (_INT,))),
    "change_rows": (
        _INT,
        (_POINTER, *3 * (_INT,), _POINTER, *2 * (_INT,), _POINTER, *2 * (_INT,)),
    ),
    "sort_rows": (_INT, (_POINTER, *4 * (_INT,), _POINTER, _INT)),
    "transpose_matrix": (None, (_POINTER, _INT, _INT, _POINTER, _INT)),
    "ascend": (None, (*2 * (_POINTER,), _INT, _POINTER)),
    "draw_examples": (_INT, (*3 * (_INT,), _POINTER, _INT, _DOUBLE, _POINTER)),
    "predict_examples": (None, (_POINTER, _INT, _POINTER)),
    "edit_distances": (_INT, (*2 * (_POINTER,), _INT, _POINTER, _INT)),
    "find_leaves": (None, (*2 * (_POINTER,), *2 * (_INT,), _POINTER)),
    "shuffle_elements": (None, (*5 * (_INT,), _POINTER)),
    "draw_many": (None, (*6 * (_INT,), _POINTER, _INT)),
    "draw_gammas": (None, (*3 * (_INT,), _POINTER, *2 * (_INT,), _POINTER, _INT)),
    "draw_poissons": (None, (*3 * (_INT,), _POINTER, *2 * (_INT,), _DOUBLE, _POINTER, _INT)),
}
# Loops so short that they keep the interpreter's lock: to get it back may take milliseconds.
_SHORT: _Types = {
    "use_threads_of": (None, (_POINTER,)),
    "dense_cross_entropy": (None, (_POINTER, _POINTER, _INT, _INT, _POINTER, _POINTER)),
    "sparse_cross_entropy": (_INT, (_POINTER, _POINTER, *3 * (_INT,), _POINTER, _POINTER)),
    "find_extremes": (None, (_POINTER, *3 * (_INT,), _POINTER)),
    "are_in_top": (None, (_POINTER, _INT, _INT, _POINTER, _INT, _INT, _POINTER)),
    "choose_boxes": (
        _INT,
        (*3 * (_POINTER,), _INT, _INT, *3 * (_DOUBLE,), *2 * (_POINTER,)),
    ),
    "count_hits": (_INT, (_POINTER, _INT, _INT, _POINTER, _INT)),
    "know_strings": (None, (_POINTER, *3 * (_INT,), *2 * (_POINTER,))),
    "find_texts": (_INT, (_POINTER, _INT, *2 * (_POINTER,))),
    "make_strings": (None, (*2 * (_POINTER,), _INT, _POINTER)),
    "join_texts": (None, (*2 * (_POINTER,), *2 * (_INT,), _POINTER, _INT, _POINTER)),
    "count_parts": (None, (*2 * (_POINTER,), _INT, _POINTER, *2 * (_INT,), _POINTER)),
    "split_texts": (None, (*2 * (_POINTER,), _INT, _POINTER, *2 * (_INT,), *2 * (_POINTER,))),
    "number_texts": (_INT, (*2 * (_POINTER,), _INT, _POINTER, _INT, *2 * (_POINTER,))),
    "find_numbers": (None, (*3 * (_POINTER,), _INT, *2 * (_POINTER,), _INT, _POINTER)),
    "read_numbers": (_INT, (*2 * (_POINTER,), *2 * (_INT,), _POINTER)),
    "find_fingerprints": (None, (*2 * (_POINTER,), _INT, _POINTER)),
    "find_murmurs": (None, (*2 * (_POINTER,), *2 * (_INT,), _POINTER)),
    "find_siphashes": (None, (*2 * (_POINTER,), _INT, *2 * (_POINTER,))),
    "find_features": (
        _INT,
        (*2 * (_POINTER,), _INT, *2 * (_POINTER,), _INT, _POINTER, _INT, *2 * (_POINTER,)),
    ),
    "count_values": (None, (*3 * (_POINTER,), *2 * (_INT,), _POINTER)),
    "read_records": (
        _INT,
        (*2 * (_POINTER,), *3 * (_INT,), _POINTER, _INT, *2 * (_POINTER,)),
    ),
    "read_values": (_INT, (*3 * (_POINTER,), *2 * (_INT,), *2 * (_POINTER,))),
    "count_strings": (None, (*3 * (_POINTER,), _INT, _POINTER)),
    "find_strings": (None, (*3 * (_POINTER,), _INT, *3 * (_POINTER,))),
    "find_tags": (_INT, (_POINTER, _INT, _POINTER, _INT)),
    "digest_tags": (_INT, (_POINTER, _INT)),
    "sparse_indices": (None, (_POINTER, _INT, _INT, _POINTER)),
    "next_marker": (_INT, (_POINTER, _INT, _INT)),
    "find_records": (_INT, (_POINTER, _INT, _POINTER, _INT, _POINTER)),
    "frame_records": (None, (_POINTER, _POINTER, _INT, _POINTER)),
    "build_block": (_INT, (*4 * (_POINTER,), *3 * (_INT,), *3 * (_POINTER,))),
    "find_distinct": (_INT, (_POINTER, _INT, _INT, *2 * (_POINTER,), _INT)),
    "find_unlike": (_INT, (_POINTER, _INT, _INT, _POINTER, _INT, *2 * (_POINTER,), _INT)),
    "take_tuples": (_INT, (_POINTER, _INT, _POINTER, _INT, _POINTER, _INT, _INT, _POINTER)),
    "add_to_rows": (_INT, (_POINTER, _INT, _INT, _POINTER, _INT, _INT, _POINTER, _DOUBLE)),
    "draw_boxes": (None, (_POINTER, *4 * (_INT,), _POINTER, _INT, _POINTER, _INT)),
    "copy_rows_unless": (None, (_POINTER, *3 * (_INT,), *2 * (_POINTER,))),
    "add_rows": (_INT, (_POINTER, _INT, _INT, _POINTER, _INT, _POINTER, _INT)),
    "reduce_picked": (
        _INT,
        (
            _POINTER,
            _INT,
            _INT,
            *2 * (_POINTER, _INT),
            _INT,
            _POINTER,
            *3 * (_INT,),
            *2 * (_POINTER,),
            _INT,
        ),
    ),
    "spread_picked": (
        _INT,
        (_POINTER, *3 * (_INT,), *2 * (_POINTER, _INT), _INT, _INT, *2 * (_POINTER,), _INT),
    ),
    "are_within": (_INT, (_POINTER, *4 * (_INT,))),
    "reshape_indices": (None, (_POINTER, _INT, *2 * (_POINTER, _INT), _POINTER)),
    "merge_numbers": (_INT, (*2 * (_POINTER, _INT), _POINTER)),
    "are_in_order": (_INT, (_POINTER, _INT, _INT, _POINTER)),
    "find_empty_rows": (_INT, (_POINTER, *3 * (_INT,), *2 * (_POINTER,))),
    "fill_empty_rows": (None, (*2 * (_POINTER,), *4 * (_INT,), *6 * (_POINTER,))),
    "find_elements": (_INT, (_POINTER, *2 * (_INT,), _POINTER, _INT, *2 * (_POINTER,))),
    "find_lookups": (_INT, (_POINTER, _INT, _POINTER, *3 * (_INT,), *6 * (_POINTER,))),
    "count_crosses": (_INT, (*2 * (_POINTER,), *2 * (_INT,), *3 * (_POINTER,))),
    "hash_crosses": (
        None,
        (_POINTER, *2 * (_INT,), *2 * (_POINTER,), *2 * (_INT,), *3 * (_POINTER,)),
    ),
    "adagrad_rows": (_INT, (*3 * (_POINTER,), _DOUBLE, _INT)),
    "ftrl_rows": (_INT, (*4 * (_POINTER,), *3 * (_DOUBLE,))),
    "draw_few": (None, (*6 * (_INT,), _POINTER, _INT)),
    "sample_classes": (_INT, (_POINTER, *5 * (_INT,), _POINTER, _INT, *3 * (_POINTER,))),
    "run_elements": (None, (_POINTER, _INT, _POINTER)),
    "encode_entries": (None, (*2 * (_POINTER,), *2 * (_INT,), *4 * (_POINTER,))),
}
_FUNCTIONS = {**_LONG, **_SHORT}


@functools.cache
def library() -> SimpleNamespace | None:
    """Return the native library; None if not built, built from other sources, or disabled.

    Arguments are addresses, sizes and numbers: that the memory is there, long enough and
    contiguous is the caller's to see to.
    """
    if os.environ.get("STILLFLOW_NATIVE") == "0":
        return None
    try:
        loaded, held = ctypes.CDLL(str(FOLDER / FILE)), ctypes.PyDLL(str(FOLDER / FILE))
    except OSError:
        return None
    expected = fingerprint()
    if expected and ctypes.c_uint32.in_dll(loaded, "fingerprint").value != expected:
        return None
    functions = SimpleNamespace()  # of a name that is not in the table nothing is known: no call
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(held if name in _SHORT else loaded, name)
        function.restype, function.argtypes = result, arguments
        setattr(functions, name, function)
    return functions


def fingerprint() -> int:
    """Return a checksum of the sources; 0 if they are missing, as in a wheel."""
    result = 0
    for path in sorted([*FOLDER.glob("*.c"), *FOLDER.glob("*.h")]):
        result = zlib.crc32(path.read_bytes(), result)
    return result


def share_threads(package: Path) -> None:
    """Run loops on the OpenMP threads of torch, which is in `package`, instead of one.

    On Linux torch brings the runtime with it.
    """
    functions = library()
    if functions is None:
        return
    for folder in (package / "lib", package.parent / "torch.libs"):
        for path in folder.glob("libgomp*.so*"):
            runtime = ctypes.CDLL(str(path))
            functions.use_threads_of(ctypes.cast(runtime.GOMP_parallel, ctypes.c_void_p))
            return
