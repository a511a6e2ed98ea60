"""``tensorflow.python.pywrap_tensorflow``: functions of TensorFlow's compiled part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.graph.arrays import Array


class ScopedTFStatus:
    """The status of a call into TensorFlow's compiled part, where there are no calls into."""


class TF_Buffer:
    """Bytes that a call into TensorFlow's compiled part gives back."""

    def __init__(self, data: bytes) -> None:
        self._data = data


def TF_GetAllOpList() -> TF_Buffer:
    """Return a buffer with the serialized `OpList` of all operations."""
    from stillflow.facade.op_registry import get_registered_ops
    from stillflow.protos import OpList

    return TF_Buffer(OpList(op=get_registered_ops().values()).SerializeToString())


def TF_GetBuffer(buffer: TF_Buffer) -> bytes:
    """Return the bytes in a buffer."""
    if not isinstance(buffer, TF_Buffer):
        raise TypeError("in method 'TF_GetBuffer', argument 1 of type 'TF_Buffer *'")
    return buffer._data


def TF_NewSessionOptions(target: bytes | None = None, config: Any = None) -> dict[str, Any]:
    """Return the options of a session."""
    return {"target": (target or b"").decode(), "config": config}


def TF_NewSession(graph: Any, options: dict[str, Any]) -> Any:
    """Return a session on a graph's `_c_graph`."""
    from stillflow.runtime.session.session import Session

    return Session(options["target"], graph, options["config"])


def TF_SessionListDevices(session: Any) -> list[Any]:
    """Return the devices of a session."""
    found: list[Any] = session.list_devices()
    return found


def TF_CloseSession(session: Any) -> None:
    """Close a session."""
    session.close()


def _device_field(name: str) -> Callable[[list[Any], int], Any]:
    def get(devices: list[Any], index: int) -> Any:
        if not 0 <= index < len(devices):
            from stillflow import errors

            raise errors.InvalidArgumentError(None, None, "index out of bounds")
        return getattr(devices[index], name)

    return get


TF_DeviceListCount, TF_DeleteDeviceList, TF_DeleteSession = len, list.clear, TF_CloseSession
TF_DeviceListName, TF_DeviceListType, TF_DeviceListMemoryBytes, TF_DeviceListIncarnation = map(
    _device_field, ("name", "device_type", "memory_limit_bytes", "incarnation")
)


def DeleteFile(filename: Any) -> None:
    """Delete a file; NotFoundError if it is not there."""
    from stillflow.files import gfile

    gfile.delete_file(filename)


def EqualGraphDefWrapper(actual: bytes, expected: bytes) -> bytes:
    """Return the first difference of two serialized GraphDefs, empty if there is none."""
    from stillflow.protos import GraphDef
    from stillflow.testing.graph_differences import difference

    for value in (actual, expected):
        if not isinstance(value, bytes):
            raise TypeError(f"expected bytes, {type(value).__name__} found")
    return difference(GraphDef.FromString(actual), GraphDef.FromString(expected)).encode()


def ProfilerFromFile(filename: Any) -> None:
    """Make profilers without a graph show the `ProfileProto` in a file.

    NotFoundError if there is no such file, DecodeError if it holds no such message.
    """
    from stillflow.files import gfile
    from stillflow.profiler.profiler import Profiler
    from stillflow.profiler.serialized import model_of_profile
    from stillflow.protos import ProfileProto

    content = gfile.read_file_to_string(filename, binary_mode=True)
    Profiler._model = model_of_profile(ProfileProto.FromString(content))


def DeleteProfiler() -> None:
    """Delete the data that `ProfilerFromFile` has read."""
    from stillflow.profiler.profiler import Profiler

    if "_model" in vars(Profiler):
        del Profiler._model


def TF_bfloat16_type() -> Any:
    """Return NumPy's type of bfloat16 numbers."""
    from stillflow.graph.dtypes import bfloat16

    return bfloat16.as_numpy_dtype


def TF_TryEvaluateConstant_wrapper(graph: Any, output: Any) -> Array | bytes | None:
    """Return the value of a tensor that depends on constants and static shapes alone, else None.

    A single string gives bytes. The arguments are of `_c_graph` and `_as_tf_output()`.
    """
    from stillflow.graph.evaluate import evaluated

    value = evaluated(output)
    return value.item() if value is not None and value.dtype == object and not value.ndim else value


def TFE_Py_RegisterExceptionClass(e: Any) -> None:
    """Do nothing: errors of eager operations are those of `tf.errors`; TypeError for no class."""
    if not (isinstance(e, type) and issubclass(e, Exception)):
        raise TypeError(
            "TFE_Py_RegisterExceptionClass: Registered class should be subclass of Exception."
        )
