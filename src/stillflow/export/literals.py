"""Values as Python expressions: numbers, shapes, types of torch, functions of libraries."""

from __future__ import annotations

import base64
import builtins
import keyword
import math
import re
import sys
import threading
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import BuiltinFunctionType, ModuleType
from typing import Any

import numpy as np
import torch

# Modules of PyTorch whose functions are written by their public names, in order of preference.
_TORCH = (
    ("torch", "torch"), ("torch.nn.functional", "F"), ("torch.Tensor", "torch.Tensor"),
    ("torch.special", "torch.special"), ("torch.linalg", "torch.linalg"),
    ("torch.fft", "torch.fft"), ("torch.autograd", "torch.autograd"), ("torch._VF", "torch._VF"),
)  # fmt: skip
_LIBRARIES = (
    "operator", "math", "functools", "itertools", "re", "struct", "collections", "collections.abc",
    "bisect", "heapq", "base64", "binascii", "zlib", "string", "codecs", "dataclasses", "time",
    "contextlib", "sys", "typing", "random", "datetime", "json", "io", "warnings", "copy", "cmath",
    "textwrap", "unicodedata", "hashlib", "decimal", "enum", "secrets", "threading", "PIL.Image",
    "simplejpeg", "csv",
)  # fmt: skip
IMAGE_LIBRARIES = ("PIL.Image", "simplejpeg")
_MOST_PACKED = 1 << 16  # of those that are written as compressed bytes
_SPECIAL = {"threading.Lock": threading.Lock, "sys.float_info": sys.float_info}
MOST_ITEMS = 64  # elements of a tensor that are written into the source


class UnwritableError(Exception):
    """A value or function that has no form as source outside of Stillflow."""


def float_text(value: float) -> str:
    """Return a float as an expression; infinities and NaN have no literal."""
    if math.isfinite(value):
        return repr(value)
    return f'float("{value}")'


def number_text(value: Any) -> str | None:
    """Return a Python number, truth, text or None as an expression; None for anything else."""
    if value is None or value is Ellipsis or type(value) in (bool, int, str, bytes):
        return repr(value)
    if type(value) is float:
        return float_text(value)
    if type(value) is complex:
        return f"complex({float_text(value.real)}, {float_text(value.imag)})"
    return None


@cache
def _torch_names() -> dict[int, str]:
    """Public names of PyTorch's functions, by identity."""
    names: dict[int, str] = {}
    for path, shown in _TORCH:
        home: Any = torch
        for part in path.split(".")[1:]:
            home = getattr(home, part)
        for name in dir(home):
            if name.startswith("_"):
                continue
            found = getattr(home, name, None)
            if callable(found) and not isinstance(found, type):
                names.setdefault(id(found), f"{shown}.{name}")
    return names


@cache
def _numpy_names() -> dict[int, str]:
    names: dict[int, str] = {}
    for module, shown in ((np, "np"), (np.linalg, "np.linalg"), (np.fft, "np.fft")):
        for name in dir(module):
            if not name.startswith("_") and callable(found := getattr(module, name)):
                names.setdefault(id(found), f"{shown}.{name}")
    for name in ("r_", "c_", "s_", "index_exp"):
        names[id(getattr(np, name))] = f"np.{name}"
    return names


def torch_name(function: Any) -> str | None:
    """Return the public name of a function of PyTorch, or None."""
    if isinstance(function, torch._ops.OpOverload):
        return f"torch.ops.{function!s}"
    if isinstance(function, torch._ops.OpOverloadPacket):
        return f"torch.ops.{function._qualified_op_name.replace('::', '.')}"
    return _torch_names().get(id(function))


def library_name(value: Any, need: Callable[[str], None]) -> str | None:
    """Return the name under which a function, class or module of a library is known, or None.

    `need` is called with the import statement that the name asks for.
    """
    if isinstance(value, ModuleType):
        return _module_name(value, need)
    if isinstance(value, re.RegexFlag):
        need("import re")
        return f"re.RegexFlag({int(value)})"
    for module in IMAGE_LIBRARIES:
        shown = getattr(value, "__name__", "")
        if shown and getattr(sys.modules.get(module), shown, None) is value:
            need(f"import {module}")
            return f"{module}.{shown}"
    for shown, special in _SPECIAL.items():
        if value is special:
            need(f"import {shown.partition('.')[0]}")
            return shown
    name = torch_name(value)
    if name is not None:
        if name.startswith("F."):
            need("import torch.nn.functional as F")
        return name
    if (name := _numpy_names().get(id(value))) is not None:
        need("import numpy as np")
        return name
    shown = getattr(value, "__name__", "")
    if getattr(builtins, shown, None) is value:
        return str(shown)
    if isinstance(value, type) and getattr(torch, shown, None) is value:
        return f"torch.{shown}"
    shown = getattr(value, "__qualname__", shown)
    home = (getattr(value, "__module__", None) or "").lstrip("_")
    if not shown or "<" in shown:
        return None
    is_own = isinstance(value, type | BuiltinFunctionType) or callable(value)
    if (is_own and home in _LIBRARIES) or home == "torch.nn.utils.rnn":
        need(f"import {home}")
        return f"{home}.{shown}"
    return None


def _module_name(module: ModuleType, need: Callable[[str], None]) -> str | None:
    name = module.__name__
    if name == "torch.nn.functional":
        need("import torch.nn.functional as F")
        return "F"
    if name == "torch" or name.startswith("torch."):
        return name
    if name == "numpy" or name.startswith("numpy."):
        need("import numpy as np")
        return name.replace("numpy", "np", 1)
    if name in _LIBRARIES:
        need(f"import {name}")
        return name
    return None


def sequence_text(items: Sequence[str], kind: type) -> str:
    """Expressions as one of a tuple, list or set."""
    inner = ", ".join(items)
    if kind is list:
        return f"[{inner}]"
    if kind is tuple:
        return f"({inner},)" if len(items) == 1 else f"({inner})"
    return f"{kind.__name__}([{inner}])"


def tensor_text(value: torch.Tensor) -> str:
    """Return a small tensor as an expression; UnwritableError if it is large."""
    if value.numel() > MOST_ITEMS:
        raise UnwritableError(f"a tensor of {value.numel()} elements")
    items = value.detach().cpu()
    if items.dtype in (torch.uint16, torch.uint32, torch.uint64, torch.bfloat16, torch.float16):
        numbers = items.to(torch.float64 if items.dtype.is_floating_point else torch.int64)
    else:
        numbers = items
    text = nested_text(numbers.tolist())
    if 0 in value.shape:
        return f"torch.empty({tuple(value.shape)}, dtype={value.dtype})"
    return f"torch.tensor({text}, dtype={value.dtype})"


def nested_text(value: Any) -> str:
    """Nested lists of numbers as an expression."""
    if isinstance(value, list):
        return "[" + ", ".join(map(nested_text, value)) + "]"
    text = number_text(value)
    if text is None:
        raise UnwritableError(f"a {type(value).__name__}")
    return text


def array_text(value: np.ndarray) -> str:
    """Return a small array of NumPy, numbers or strings, as an expression."""
    if value.size > MOST_ITEMS:
        raise UnwritableError(f"an array of {value.size} elements")
    if value.dtype == object:
        items = nested_text(value.reshape(-1).tolist())
        return f"np.array({items} + [None], object)[:-1].reshape({value.shape})"
    return f"np.array({nested_text(value.tolist())}, np.{value.dtype.name})"


def packed_text(value: np.ndarray) -> str:
    """Return an array of numbers as an expression of its compressed bytes."""
    if value.size > _MOST_PACKED:
        raise UnwritableError(f"an array of {value.size} elements")
    text = base64.b85encode(zlib.compress(np.ascontiguousarray(value).tobytes())).decode()
    kind = value.dtype.descr if value.dtype.names else value.dtype.str
    array = f"np.frombuffer(zlib.decompress(base64.b85decode({text!r})), {kind!r})"
    return f"{array}.reshape({value.shape}).copy()"


_NOT_A_NAME = re.compile(r"\W")
RESERVED = frozenset({"torch", "nn", "F", "np", "self", "math", "json", "struct", "Path"})


def identifier(text: str, default: str = "x") -> str:
    """Return a text as a Python name: other characters become underscores."""
    name = _NOT_A_NAME.sub("_", text).strip("_") or default
    if name[0].isdigit():
        name = f"_{name}"
    if keyword.iskeyword(name) or name in RESERVED or hasattr(builtins, name):
        name += "_"
    return name


def mapping_text(value: Mapping[Any, Any], write: Callable[[Any], str]) -> str:
    """Return a dict as an expression."""
    return "{" + ", ".join(f"{write(key)}: {write(item)}" for key, item in value.items()) + "}"
