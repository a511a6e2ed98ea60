"""Ops that map each string on its own: case, length, Base64, hashes."""

from __future__ import annotations

import binascii
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.graph.card import Card, op
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.ops.dispatch import dispatchable
from stillflow.ops.samples import Bad, Sample, Samples
from stillflow.ops.strings.kernels import all_to_strings, to_numbers, to_strings
from stillflow.util.farmhash import fingerprints
from stillflow.util.renamed import renamed_argument
from stillflow.util.string_hashes import murmur64s, siphashes
from stillflow.util.texts import FEW, texts_of

string_strip_op = op("StringStrip(input: string) -> output: string", batching="each string")
string_lower_op = op(
    'StringLower(input: string) -> output: string; encoding: string = ""', batching="each string"
)
string_upper_op = op(
    'StringUpper(input: string) -> output: string; encoding: string = ""', batching="each string"
)
string_length_op = op(
    """
    StringLength(input: string) -> output: int32
    unit: {"BYTE", "UTF8_CHAR"} = "BYTE"
""",
    batching="each string",
)
encode_base64_op = op(
    "EncodeBase64(input: string) -> output: string; pad: bool = false", differentiable=False
)
decode_base64_op = op("DecodeBase64(input: string) -> output: string", differentiable=False)
string_to_hash_bucket_fast_op = op(
    "StringToHashBucketFast(input: string) -> output: int64; num_buckets: int >= 1",
    differentiable=False,
    batching="each string",
)


string_to_hash_bucket_strong_op = op(
    """
    StringToHashBucketStrong(input: string) -> output: int64
    num_buckets: int >= 1
    key: list(int)
""",
    differentiable=False,
    batching="each string",
)
string_to_hash_bucket_op = op(
    "StringToHashBucket(string_tensor: string) -> output: int64; num_buckets: int >= 1",
    differentiable=False,
    batching="each string",
)
_LEGACY_SEED = 0xDECAFCAFFE


def same_shape(node: Node) -> tuple[int | None, ...] | None:
    return node.dims(0)


_CONTINUING = bytes(range(0x80, 0xC0))  # no character begins with these


def utf8_length(text: bytes) -> int:
    """Return the number of characters: of bytes that do not continue one."""
    return len(text.translate(None, _CONTINUING))


_TO_URLS = bytes.maketrans(b"+/", b"-_")
_FROM_URLS = bytes.maketrans(b"-_", b"+/")
_NOT_BASE64 = bytes(
    byte for byte in range(256) if not (byte < 128 and chr(byte).isalnum()) and byte not in b"-_"
)


def _encoded(texts: list[bytes], pad: bool) -> list[bytes]:
    """Texts in Base64, all in one call: they are filled up to whole groups and cut out again."""
    fill = [b"", b"\0\0", b"\0"]
    joined = b"".join([text + fill[len(text) % 3] for text in texts])
    digits = binascii.b2a_base64(joined, newline=False).translate(_TO_URLS)
    sizes = np.fromiter(map(len, texts), np.int64, len(texts))
    found = _pieces(digits, (sizes + 2) // 3 * 4, (4 * sizes + 2) // 3)
    return [text + b"=" * (-len(text) % 4) for text in found] if pad else found


def _encode_kernel(node: Node) -> Callable[..., Any]:
    return all_to_strings(partial(_encoded, pad=node.pad), "encode_texts", node.pad)


def _decoded(texts: list[bytes]) -> list[bytes]:
    """Return the bytes that are written in Base64, or raise ValueError."""
    texts = [text if text[-1:] != b"=" else _without_padding(text) for text in texts]
    fill = [b"", b"AAA", b"AA", b"A"]
    joined = b"".join([text + fill[len(text) % 4] for text in texts])
    digits = joined.translate(_FROM_URLS, _NOT_BASE64)
    sizes = np.fromiter(map(len, texts), np.int64, len(texts))
    if len(digits) != len(joined) or (sizes % 4 == 1).any():
        for text in texts:
            _check_base64(text)
    return _pieces(binascii.a2b_base64(digits), (sizes + 3) // 4 * 3, sizes * 3 // 4)


def _without_padding(text: bytes) -> bytes:
    if len(text) % 4:
        return text
    return text[:-2] if text.endswith(b"==") else text[:-1]


def _check_base64(text: bytes) -> None:
    if len(text) % 4 == 1 and _is_base64(text[:-1]):
        raise ValueError("Base64 string length cannot be 1 modulo 4.")
    if not _is_base64(text):
        raise ValueError("Invalid character found in base64.")


def _is_base64(text: bytes) -> bool:
    return len(text.translate(None, _NOT_BASE64)) == len(text)


def _pieces(joined: bytes, sizes: np.ndarray, kept: np.ndarray) -> list[bytes]:
    """Return the first bytes of pieces of these sizes."""
    starts = np.cumsum(sizes) - sizes
    return [joined[a:b] for a, b in zip(starts.tolist(), (starts + kept).tolist(), strict=True)]


def _check_encoding(node: Node) -> None:
    if node.encoding not in (b"", b"utf-8"):
        raise ValueError(
            f"only utf-8 or '' (no encoding) is supported, received {node.encoding.decode()}"
        )


def _cased(change: str) -> Callable[[Node], Any]:
    """Return the kernel of a change of case: of ASCII letters, or of all letters in UTF-8."""

    def kernel(node: Node) -> Callable[..., Any]:
        _check_encoding(node)
        if node.encoding:
            return to_strings(lambda s: getattr(s.decode("utf-8", "replace"), change)().encode())
        return to_strings(getattr(bytes, change))

    return kernel


def _length_kernel(node: Node) -> Callable[..., Any]:
    if node.unit != b"BYTE":
        return to_numbers(utf8_length, dtypes.int32)
    one_by_one = to_numbers(len, dtypes.int32)

    def length(x: Any) -> Any:
        texts = texts_of(x) if x.size > FEW else None
        if texts is None:
            return one_by_one(x)
        return torch.from_numpy(texts.sizes.astype(np.int32).reshape(x.shape))

    return length


def _to_buckets(hashes: Callable[[np.ndarray], np.ndarray], count: int) -> Callable[..., Any]:
    """Return the kernel that puts strings into buckets, by 64-bit hashes of all of them."""

    def kernel(x: Any) -> torch.Tensor:
        buckets = hashes(x.reshape(-1)) % np.uint64(count)
        return torch.from_numpy(buckets.view(np.int64).reshape(x.shape))

    return kernel


def _hash_kernel(node: Node) -> Callable[..., Any]:
    return _to_buckets(fingerprints, node.num_buckets)


def _strong_hash_kernel(node: Node) -> Callable[..., Any]:
    key = tuple(node.key)
    if len(key) != 2:
        raise ValueError("Key must have 2 elements")
    return _to_buckets(lambda strings: siphashes(strings, key), node.num_buckets)


def _legacy_hash_kernel(node: Node) -> Callable[..., Any]:
    return _to_buckets(lambda strings: murmur64s(strings, _LEGACY_SEED), node.num_buckets)


_KERNELS: list[tuple[Card, Callable[[Node], Any]]] = [
    (string_strip_op, lambda node: to_strings(bytes.strip)),
    (string_lower_op, _cased("lower")),
    (string_upper_op, _cased("upper")),
    (string_length_op, _length_kernel),
    (encode_base64_op, _encode_kernel),
    (decode_base64_op, lambda node: all_to_strings(_decoded, "decode_texts")),
    (string_to_hash_bucket_fast_op, _hash_kernel),
    (string_to_hash_bucket_strong_op, _strong_hash_kernel),
    (string_to_hash_bucket_op, _legacy_hash_kernel),
]
for _card, _kernel in _KERNELS:
    _card.shape(same_shape)
    _card.kernel(_kernel)


def _strings(*items: bytes) -> np.ndarray:
    return np.array(items, object)


@string_strip_op.samples
@string_lower_op.samples
@string_upper_op.samples
@string_length_op.samples
@encode_base64_op.samples
def any_string_samples() -> Samples:
    yield Sample(_strings(b" aB ", "\u00e9x".encode(), b"\xff\x00"))
    yield Sample(np.zeros((2, 0), object))
    yield Sample(_strings(b"One", b"tWo 3"))


@decode_base64_op.samples
def decode_base64_samples() -> Samples:
    yield Sample(_strings(b"YWI", b"YWI=", b"-_8", b""))
    yield Bad(_strings(b"a+/b"), match="Invalid character")
    yield Bad(_strings(b"a"), match="cannot be 1 modulo 4")


@string_to_hash_bucket_strong_op.samples
def string_to_hash_bucket_strong_samples() -> Samples:
    yield Sample(_strings(b"a", b"", b"long" * 40), num_buckets=10, key=[1, -2])


@string_to_hash_bucket_op.samples
@string_to_hash_bucket_fast_op.samples
def string_to_hash_bucket_fast_samples() -> Samples:
    yield Sample(_strings(b"a", b"", b"long" * 40), num_buckets=10)


@export("string_strip", "strings.strip")
@dispatchable
def string_strip(input: Any, name: str | None = None) -> Tensor:
    """Strings without the whitespace at their ends."""
    return string_strip_op(input, name=name)


@export("strings.lower")
@dispatchable
def string_lower(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """Strings in lower case: ASCII letters, or all letters if `encoding` is "utf-8"."""
    return string_lower_op(input, encoding=encoding, name=name)


@export("strings.upper")
@dispatchable
def string_upper(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """Strings in upper case: ASCII letters, or all letters if `encoding` is "utf-8"."""
    return string_upper_op(input, encoding=encoding, name=name)


@export("strings.length")
@dispatchable
def string_length(input: Any, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """Return the lengths of strings in bytes, or characters if `unit` is "UTF8_CHAR", as int32."""
    return string_length_op(input, unit=unit, name=name)


@export("encode_base64", "io.encode_base64")
@dispatchable
def encode_base64(input: Any, pad: bool = False, name: str | None = None) -> Tensor:
    """Strings in Base64 with "-" and "_", filled up with "=" if `pad`."""
    return encode_base64_op(input, pad=pad, name=name)


@export("decode_base64", "io.decode_base64")
@dispatchable
def decode_base64(input: Any, name: str | None = None) -> Tensor:
    """Return the strings that were encoded in Base64 with "-" and "_"."""
    return decode_base64_op(input, name=name)


@export("string_to_hash_bucket_fast", "strings.to_hash_bucket_fast")
@dispatchable
def string_to_hash_bucket_fast(input: Any, num_buckets: int, name: str | None = None) -> Tensor:
    """Return the FarmHash fingerprints of strings modulo `num_buckets`, as int64."""
    return string_to_hash_bucket_fast_op(input, num_buckets=num_buckets, name=name)


@export("string_to_hash_bucket_strong", "strings.to_hash_bucket_strong")
@dispatchable
def string_to_hash_bucket_strong(
    input: Any, num_buckets: int, key: Any, name: str | None = None
) -> Tensor:
    """Return SipHashes of strings under a `key` of two integers, modulo `num_buckets`, int64."""
    return string_to_hash_bucket_strong_op(input, num_buckets=num_buckets, key=key, name=name)


@export("string_to_hash_bucket", "strings.to_hash_bucket")
@dispatchable
def string_to_hash_bucket(
    string_tensor: Any = None, num_buckets: Any = None, name: str | None = None, input: Any = None
) -> Tensor:
    """Return the MurmurHashes of strings modulo `num_buckets`, as int64.

    `input` is another name.
    """
    strings = renamed_argument("input", input, "string_tensor", string_tensor)
    return string_to_hash_bucket_op(strings, num_buckets=num_buckets, name=name)
