"""The plain C interface of a library of operations (`include/stillflow/abi.h`), by ctypes."""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Callable
from typing import Any, NamedTuple

from stillflow import errors
from stillflow.ops.custom.declarations import Declaration
from stillflow.ops.custom.device_memory import MEMORY
from stillflow.ops.custom.messages import Reader

VERSION = 3
SYMBOL = b"stillflow_op_library"
NOTHING, OFFERED, ALLOCATED = 0, 1, 2  # of an output, in `Call.results`

_INT, _POINTER = ctypes.c_int64, ctypes.c_void_p
ALLOCATE = ctypes.CFUNCTYPE(_INT, _INT, _INT, _INT, _INT, ctypes.POINTER(_INT))


class Call(ctypes.Structure):
    """One run of a kernel; see `sf_call`."""

    _fields_ = [
        ("inputs", _POINTER),
        ("offers", _POINTER),
        ("results", _POINTER),
        ("device", _INT),
        ("stream", _INT),
        ("step", _INT),
        ("user", _INT),
        ("allocate", ALLOCATE),
    ]


_SIGNATURES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "describe": (_POINTER, (ctypes.POINTER(_INT),)),
    "infer": (_INT, (_INT, ctypes.c_char_p, _INT)),
    "make": (_INT, (_INT, ctypes.c_char_p, _INT, _POINTER, ctypes.POINTER(_POINTER))),
    "destroy": (None, (_POINTER,)),
    "run": (_INT, (_POINTER, _POINTER)),
    "message": (_POINTER, (ctypes.POINTER(_INT),)),
    "read": (_POINTER, (_POINTER, ctypes.POINTER(_INT))),
    "release": (None, (_POINTER,)),
    "make_resources": (_POINTER, ()),
    "destroy_resources": (None, (_POINTER,)),
    "connect": (None, (_POINTER,)),
    "cancel": (None, (_POINTER,)),
}


class _Table(ctypes.Structure):
    _fields_ = [("version", _INT), *((name, _POINTER) for name in _SIGNATURES)]


class KernelDeclaration(NamedTuple):
    """Registration of a kernel by a library.

    Attributes:
      constraints: the types that an attribute may have, by its name.
      host_memory: arguments that are in the host's memory wherever the kernel runs.
    """

    op: str
    device: str
    label: str
    class_name: str
    priority: int
    constraints: list[tuple[str, list[int]]]
    host_memory: list[str]


class Interface:
    """The functions of one library.

    Args:
      path: the library's file.

    Raises:
      tf.errors.NotFoundError: if the system cannot load it.
      tf.errors.UnimplementedError: if it was compiled for TensorFlow itself.
      tf.errors.InvalidArgumentError: if it holds no operations that Stillflow can run.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        _check_file(path)
        try:
            self._library = ctypes.CDLL(os.path.abspath(path))
        except OSError as error:
            raise errors.not_found(str(error)) from None
        function = self._library.stillflow_op_library
        function.restype = ctypes.POINTER(_Table)
        table = function().contents
        if table.version != VERSION:
            raise errors.failed_precondition(
                f"{path} was compiled with the headers of another version of Stillflow "
                f"(interface {table.version}, not {VERSION}). Compile it again."
            )
        for name, (result, arguments) in _SIGNATURES.items():
            prototype = ctypes.CFUNCTYPE(result, *arguments)
            setattr(self, name, prototype(getattr(table, name)))
        self.connect(MEMORY)

    describe: Callable[..., Any]
    infer: Callable[..., Any]
    make: Callable[..., Any]
    destroy: Callable[..., Any]
    run: Callable[..., Any]
    message: Callable[..., Any]
    read: Callable[..., Any]
    release: Callable[..., Any]
    make_resources: Callable[..., Any]
    destroy_resources: Callable[..., Any]
    connect: Callable[..., Any]
    cancel: Callable[..., Any]

    def answer(self) -> bytes:
        """Return the answer or the error message of this thread's last call."""
        return _bytes(self.message)

    def text(self) -> str:
        """Return the error message of this thread's last call."""
        return self.answer().decode(errors="replace")

    def content(self, tensor: int) -> Reader:
        """Return a tensor of the library: its type and shape, and its elements or their address."""
        return Reader(_bytes(self.read, tensor))

    def declarations(self) -> tuple[list[Declaration], list[KernelDeclaration]]:
        """Return the operations and the kernels that the library registers."""
        reader = Reader(_bytes(self.describe))
        ops = [_read_op(reader) for _ in range(reader.number())]
        return ops, [_read_kernel(reader) for _ in range(reader.number())]


def _bytes(function: Callable[..., Any], *arguments: Any) -> bytes:
    size = _INT()
    address = function(*arguments, ctypes.byref(size))
    return ctypes.string_at(address, size.value) if address else b""


_FLAGS = ("stateful", "commutative", "aggregate", "uninitialized")


def _read_op(reader: Reader) -> Declaration:
    name, doc = reader.text(), reader.text()
    inputs, outputs, attributes = reader.texts(), reader.texts(), reader.texts()
    bits = reader.number()
    flags = frozenset(flag for at, flag in enumerate(_FLAGS) if bits >> at & 1)
    return Declaration(name, doc, inputs, outputs, attributes, flags, bool(bits >> 4))


def _read_kernel(reader: Reader) -> KernelDeclaration:
    op, device, label, class_name = (reader.text() for _ in range(4))
    priority = reader.number()
    constraints = [(reader.text(), reader.numbers()) for _ in range(reader.number())]
    return KernelDeclaration(op, device, label, class_name, priority, constraints, reader.texts())


def _check_file(path: str) -> None:
    """Look at a library's symbols before any of its code runs."""
    if not os.path.exists(path):
        raise errors.not_found(f"{path}: cannot open shared object file: No such file or directory")
    if os.path.getsize(path) == 0:
        raise errors.not_found(f"{path}: file too short")
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        if content[:4] not in _MAGIC or content.find(SYMBOL) >= 0:
            return  # what is no library at all, the system says
        for_tensorflow = content.find(b"10tensorflow") >= 0
    compile_again = (
        "Compile its sources again with the flags that tf.sysconfig.get_compile_flags() and "
        "get_link_flags() give here, or with: python -m stillflow build-op SOURCES -o LIBRARY"
    )
    if for_tensorflow:
        raise errors.unimplemented(
            f"{path} holds operations compiled for TensorFlow, whose library is not here. "
            + compile_again
        )
    raise errors.invalid_argument(
        f"{path} registers no operations with Stillflow's headers. {compile_again}"
    )


# ELF, Mach-O (either byte order, and of several processors), Windows.
_MAGIC = (
    b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xfe\xed\xfa\xcf", b"\xca\xfe\xba\xbe", b"MZ\x90\x00",
)  # fmt: skip
