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

FOLDER = Path(__file__).resolve().parent
NAMES = {"win32": "stillflow_native.dll", "darwin": "stillflow_native.dylib"}
FILE = NAMES.get(sys.platform, "stillflow_native.so")

# The type of a loop's result and, behind a blank, the types of its arguments.
_TYPES = {"-": None, "p": ctypes.c_void_p, "i": ctypes.c_int64, "d": ctypes.c_double}
# Loops that release the GIL.
_LONG = {
    "batch_norm_train": "i piippdpippppi",
    "batch_norm_gradient": "i pppiipppdpppi",
    "resize_bilinear": "- piiiiipppi",
    "resize_bilinear_gradient": "- piiiipppi",
    "resize_nearest": "- piiiipipipi",
    "resize_nearest_gradient": "- piiiipipipi",
    "sample_images": "- piiiipipi",
    "sample_images_gradient": "- piiiipipppi",
    "interpolate_chroma": "- piiiiiiiiip",
    "unpack_gif": "i piipi",
    "crop_images": "i piiiiippiiiidpi",
    "narrow_to_bytes": "- piiip",
    "resize_quantized": "- piiippp",
    "crop_gradient_of_images": "- piiiipipppi",
    "crop_gradient_of_boxes": "- ppiiiipipppi",
    "adjust_colours": "- piidipi",
    "extract_patches": "- pippipi",
    "dilate": "- pippipppi",
    "find_largest": "- piiiiipi",
    "ctc_losses": "i ppppi",
    "choose_items": "- ppipiiiipi",
    "transpose_blocks": "- piiiipi",
    "multiply_narrow": "i ppppi",
    "multiply_sparse": "i ppiipiipii",
    "zeta_of_whole": "i ipidpi",
    "zeta_of_any": "i ppipi",
    "gamma_series": "- ppippi",
    "gamma_fractions": "- ppippi",
    "beta_fractions": "- pppipi",
    "weighted_sums": "- piiiippi",
    "histogram_summaries": "i pipppi",
    "counted_summaries": "i pipppp",
    "lstm_forward": "- iippddpppii",
    "lstm_backward": "- iippppippppppi",
    "gru_layer": "- p",
    "gru_layer_gradient": "- p",
    "lstm_layer": "- p",
    "lstm_layer_gradient": "- p",
    "max_pool": "- ppppi",
    "pool_windows": "- piipppi",
    "max_pool_gradient": "- ppppi",
    "check_pieces": "i pppip",
    "copy_pieces": "- pppip",
    "add_bias_relu": "i piippi",
    "bias_relu_gradient": "i ppiippi",
    "relu_gradient_of_sum": "- pppipi",
    "relu6_gradient": "- ppipi",
    "elu_gradient": "- ppipi",
    "update_variables": "i piipi",
    "square_roots": "- ppii",
    "hyperbolic_tangents": "- ppii",
    "change_rows": "i piiipiipii",
    "sort_rows": "i piiiipi",
    "find_ranks": "i piiiipi",
    "filter_rows": "i piiiip",
    "transpose_matrix": "- piipi",
    "ascend": "- ppip",
    "draw_examples": "i iiipidp",
    "predict_examples": "- pip",
    "edit_distances": "i pppipppiipi",
    "summarize_numbers": "- piiddp",
    "walk_chain": "i ipi",
    "choose_of_classes": "i pppiiddppppi",
    "find_row_fingerprints": "- piip",
    "find_range_splits": "i ipppip",
    "fill_ranges": "- ippipp",
    "combine_sets": "i ippippipp",
    "aggregate_stats": "i pppiiiip",
    "sum_stats": "i pppipiiip",
    "summarize_values": "i ppiiidpp",
    "replace_runs": "i pipiiipip",
    "match_texts": "- pipiiip",
    "speech_features": "i ppip",
    "find_leaves": "- ppiip",
    "shuffle_elements": "- iiiiip",
    "draw_many": "- iiiiiipi",
    "draw_gammas": "- iiipiipi",
    "draw_poissons": "- iiipiidpi",
}
# Loops so short that they keep the interpreter's lock: to get it back may take milliseconds.
_SHORT = {
    "use_threads_of": "- p",
    "dense_cross_entropy": "- ppiipp",
    "sparse_cross_entropy": "i ppiiipp",
    "find_extremes": "- piiip",
    "are_in_top": "- piipiip",
    "choose_boxes": "i pppiidddpp",
    "count_hits": "i piipi",
    "know_strings": "- piiippp",
    "find_texts": "i pipp",
    "make_strings": "- ppip",
    "join_texts": "- ppiipip",
    "count_parts": "- ppipiip",
    "split_texts": "- ppipiipp",
    "number_texts": "i ppipipp",
    "encode_texts": "i ppiip",
    "decode_texts": "i ppip",
    "change_encoding": "i ppiiiip",
    "read_characters": "i ppiiippp",
    "write_characters": "i ppiip",
    "find_numbers": "- pppippip",
    "read_numbers": "i ppiip",
    "find_fingerprints": "- ppip",
    "find_long_fingerprints": "- ppip",
    "find_murmurs": "- ppiip",
    "find_siphashes": "- ppipp",
    "find_features": "i ppippipipp",
    "count_values": "- pppiip",
    "read_records": "i ppiiipipp",
    "read_values": "i pppiipp",
    "count_strings": "- pppip",
    "find_strings": "- pppippp",
    "find_tags": "i pipi",
    "digest_tags": "i pi",
    "sparse_indices": "- piip",
    "next_marker": "i pii",
    "find_records": "i pipip",
    "frame_records": "- ppip",
    "build_block": "i ppppiiippp",
    "find_distinct": "i piippi",
    "find_distinct_rows": "i piipp",
    "find_unlike": "i piipippi",
    "take_tuples": "i pipipiip",
    "add_to_rows": "i piipiipd",
    "draw_boxes": "- piiiipipi",
    "copy_rows_unless": "- piiipp",
    "add_rows": "i piipipi",
    "reduce_picked": "i piipipiipiiippi",
    "spread_picked": "i piiipipiiippi",
    "are_within": "i piiii",
    "reshape_indices": "- pipipip",
    "merge_numbers": "i pipip",
    "are_in_order": "i piip",
    "find_empty_rows": "i piiipp",
    "fill_empty_rows": "- ppiiiipppppp",
    "find_elements": "i piipipp",
    "find_lookups": "i pipiiipppppp",
    "count_crosses": "i ppiippp",
    "hash_crosses": "- piippiippp",
    "adagrad_rows": "i pppdi",
    "adagrad_rows_of_many": "i pidi",
    "ftrl_rows": "i ppppddd",
    "draw_few": "- iiiiiipi",
    "sample_classes": "i piiiiipippp",
    "run_elements": "- pip",
    "gru_cell": "- p",
    "find_step": "i pp",
    "run_steps": "i ppipippipi",
    "copy_results": "- ppip",
    "encode_entries": "- ppiipppp",
}
_FUNCTIONS = {
    name: (_TYPES[types[0]], [_TYPES[letter] for letter in types[2:]])
    for name, types in {**_LONG, **_SHORT}.items()
}


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
