"""Tensors that a session keeps from one run to the next: `tf.get_session_handle`."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph import dtypes
from stillflow.graph.api import colocate_with, device
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.dims import shape_text
from stillflow.graph.dtypes import as_dtype
from stillflow.graph.export import export
from stillflow.graph.node import Node
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.constants import placeholder
from stillflow.ops.kernels import copied

# The state of a session that all these ops share.
KIND = "session tensors"
HANDLES = ("GetSessionHandle", "GetSessionHandleV2")

get_session_handle_op = op(
    "GetSessionHandle(value: T) -> handle: string; T: type; flags: stateful", keeps=(0,)
)
get_session_handle_v2_op = op(
    "GetSessionHandleV2(value: T) -> handle: resource; T: type; flags: stateful", keeps=(0,)
)
get_session_tensor_op = op(
    "GetSessionTensor(handle: string) -> value: dtype; dtype: type; flags: stateful",
    differentiable=False,
)
delete_session_tensor_op = op("DeleteSessionTensor(handle: string); flags: stateful")


class SessionTensors:
    """The kept tensors of a session, by handle."""

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}
        self._numbers = itertools.count()

    def keep(self, name: str, where: str, value: Any) -> str:
        """Keep a value; give its handle."""
        handle = f"{name};{next(self._numbers)};{where}"
        self._values[handle] = value
        return handle

    def get(self, handle: str) -> Any:
        """Return the value behind a handle.

        Raises:
          tf.errors.InvalidArgumentError: if there is none.
        """
        if handle not in self._values:
            raise errors.invalid_argument(
                f"The tensor with handle '{handle}' is not in the session store."
            )
        return self._values[handle]

    def delete(self, handle: str) -> None:
        """Forget a value.

        Raises:
          tf.errors.InvalidArgumentError: if there is none.
        """
        if self._values.pop(handle, None) is None:
            raise errors.invalid_argument(
                f"Failed to delete a tensor with handle '{handle}' in the session store."
            )

    def forget(self, handle: str) -> None:
        """Forget a value that may be gone already."""
        self._values.pop(handle, None)


def kept_tensors(resources: Any) -> SessionTensors:
    """Return the tensors that a session keeps."""
    store: SessionTensors = resources.get("", KIND, KIND, SessionTensors)
    return store


def _store(node: Any) -> SessionTensors:
    store: SessionTensors = node.resource(SessionTensors, kind=KIND, name=KIND)
    return store


def _text(handle: Any) -> str:
    if handle.ndim:
        raise ValueError(f"The handle must be a scalar, got shape {shape_text(handle.shape)}")
    text: bytes = handle[()]
    return text.decode(errors="replace")


@get_session_handle_op.shape
@get_session_handle_v2_op.shape
def get_session_handle_shape(node: Node) -> OutputDims:
    return ()


@get_session_handle_op.kernel
@get_session_handle_v2_op.kernel
def get_session_handle_kernel(node: Any) -> Kernel:
    if node.is_eager:
        raise errors.failed_precondition("GetSessionHandle called on null session state")
    store, name = _store(node), node.name
    unit = node.op.device.rpartition("/device:")[2] or "CPU:0"
    where = f"/job:localhost/replica:0/task:0/device:{unit}"

    def keep(value: Any) -> Array:
        handle = np.empty((), dtype=object)
        handle[()] = store.keep(name, where, copied(value)).encode()
        return handle

    return keep


@get_session_tensor_op.shape
def get_session_tensor_shape(node: Node) -> OutputDims:
    return None


@get_session_tensor_op.kernel
def get_session_tensor_kernel(node: Any) -> Kernel:
    store = _store(node)
    return lambda handle: copied(store.get(_text(handle)))


@delete_session_tensor_op.shape
def delete_session_tensor_shape(node: Node) -> OutputDims:
    return []


@delete_session_tensor_op.kernel
def delete_session_tensor_kernel(node: Any) -> Kernel:
    store = _store(node)
    return lambda handle: store.delete(_text(handle))


class TensorHandle:
    """Result of fetching a handle: a tensor that stays in the session.

    It may be fed in the tensor's place. The tensor is forgotten with the last reference to this.
    """

    def __init__(self, handle: Any, dtype: Any, session: Any) -> None:
        self._handle = handle.decode() if isinstance(handle, bytes) else str(handle)
        self._dtype, self._session = dtype, session
        self._auto_gc_enabled = True

    def __del__(self) -> None:
        if self._auto_gc_enabled:
            resources = self._session._resources
            if resources is not None:
                kept_tensors(resources).forget(self._handle)

    def __str__(self) -> str:
        return self._handle

    @property
    def handle(self) -> str:
        """The handle as text."""
        return self._handle

    def eval(self) -> Array:
        """Return the tensor's value.

        Raises:
          TypeError: if the handle was given away or deleted.
        """
        self._check_alive()
        graph = self._session.graph
        key = self._handle.split(";")[0] + ";" + self._handle.split(";")[-1]
        readers = graph.__dict__.setdefault("_handle_readers", {})
        if key not in readers:
            with graph.as_default():
                readers[key] = get_session_tensor(self._handle, self._dtype)
        holder, reader = readers[key]
        return self._session.run(reader, feed_dict={holder: self._handle})

    def delete(self) -> None:
        """Forget the tensor now.

        Raises:
          TypeError: if the handle was given away or deleted.
        """
        self._check_alive()
        self._auto_gc_enabled = False
        with self._session.graph.as_default():
            holder, deleter = delete_session_tensor(self._handle)
        self._session.run(deleter, feed_dict={holder: self._handle})

    def get_raw_handle(self) -> str:
        """Return the handle as text; the tensor stays until it is deleted."""
        self._auto_gc_enabled = False
        return self._handle

    def value(self) -> Any:
        """Return the tensor, for a feed."""
        return kept_tensors(self._session._get_resources()).get(self._handle)

    def _check_alive(self) -> None:
        if not self._auto_gc_enabled:
            raise TypeError(f"Persistent tensor {self._handle} may have already been deleted.")


def _device(handle: Any) -> str:
    text = handle.decode() if isinstance(handle, bytes) else str(handle)
    return text.split(";")[-1]


@export("get_session_handle")
def get_session_handle(data: Any, name: str | None = None) -> Tensor:
    """Keep a tensor in the session.

    Args:
      data: a tensor.
      name: of the operation.

    Returns:
      A scalar string tensor; fetching it gives a `TensorHandle`.

    Raises:
      TypeError: if `data` is no tensor.
    """
    if not isinstance(data, Tensor):
        raise TypeError("`data` must be of type Tensor.")
    with colocate_with(data):
        return get_session_handle_op(data, name=name)


@export("get_session_tensor")
def get_session_tensor(handle: Any, dtype: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Return a tensor that an earlier run has kept.

    Args:
      handle: the text of one handle; tells the device.
      dtype: of the tensor.
      name: of the operation.

    Returns:
      The placeholder to feed a handle to, and the tensor.
    """
    with device(_device(handle)):
        holder = placeholder(dtypes.string)
        return holder, get_session_tensor_op(holder, dtype=as_dtype(dtype), name=name)


@export("delete_session_tensor")
def delete_session_tensor(handle: Any, name: str | None = None) -> tuple[Tensor, Operation]:
    """Forget a tensor that an earlier run has kept.

    Args:
      handle: the text of one handle; tells the device.
      name: of the operation.

    Returns:
      The placeholder to feed a handle to, and the operation.
    """
    with device(_device(handle)):
        holder = placeholder(dtypes.string)
        return holder, delete_session_tensor_op(holder, name=name)
