"""Compression of what ranks send to each other."""

from __future__ import annotations

from typing import Any

import stillflow as tf


class Compressor:
    """Interface of compression: a pair of functions around a reduction."""

    @staticmethod
    def compress(tensor: Any) -> tuple[Any, Any]:
        """Return what is sent, and a context for `decompress`."""
        raise NotImplementedError

    @staticmethod
    def decompress(tensor: Any, ctx: Any) -> Any:
        """Return the tensor in its own type."""
        raise NotImplementedError


class NoneCompressor(Compressor):
    """Compressor that sends tensors as they are."""

    @staticmethod
    def compress(tensor: Any) -> tuple[Any, Any]:
        return tensor, None

    @staticmethod
    def decompress(tensor: Any, ctx: Any) -> Any:
        return tensor


class FP16Compressor(Compressor):
    """Compressor that sends numbers with a fraction as 16-bit floats."""

    @staticmethod
    def compress(tensor: Any) -> tuple[Any, Any]:
        dtype = tensor.dtype
        return (tf.cast(tensor, tf.float16) if dtype.is_floating else tensor), dtype

    @staticmethod
    def decompress(tensor: Any, ctx: Any) -> Any:
        return tf.cast(tensor, ctx) if ctx.is_floating else tensor


class Compression:
    """The compressors that programs choose from."""

    none = NoneCompressor
    fp16 = FP16Compressor
