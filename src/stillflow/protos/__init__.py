"""TensorFlow's protobuf messages and enums, by their names.

``from stillflow.protos import GraphDef, AttrValue, DataType, DT_FLOAT``.  Every name is built when
it is first asked for, into a descriptor pool of our own: nothing clashes with another library that
has registered messages of the same names.  Where two packages declare the same short name, the
one of package ``tensorflow`` is meant; ``file(path)`` reaches the others.
"""

from __future__ import annotations

from threading import RLock
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from google.protobuf.descriptor import FileDescriptor
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from google.protobuf.descriptor_pool import DescriptorPool

    from stillflow.protos.schema import Table

_lock = RLock()
_table: Table | None = None
_pool: DescriptorPool | None = None
_index: dict[str, str] = {}
_files: dict[str, Mapping[str, Any]] = {}
_added: set[str] = set()  # the paths of other libraries' files


def _schema() -> Table:
    global _table
    with _lock:
        if _table is not None:
            return _table
        from stillflow.protos.schema import Table

        table = Table()
        # Later entries win, so files of the main package come last.
        for path in sorted(table.sections, key=lambda path: table.packages[path] == "tensorflow"):
            _index.update(dict.fromkeys(table.names(path), path))
        _table = table
    return _table


def _build(path: str) -> Mapping[str, Any]:
    """Put a file into the pool and make its classes, after those of the files it imports.

    In that order, because the library makes a plain class itself for a message that is reached
    through a field before its own class was made.
    """
    global _pool
    if path in _files:
        return _files[path]
    from stillflow.protos.classes import file_names

    if _pool is None:
        from google.protobuf.descriptor_pool import DescriptorPool

        _pool = DescriptorPool()
    if path.startswith("google/protobuf/"):
        import importlib

        module = importlib.import_module(path.removesuffix(".proto").replace("/", ".") + "_pb2")
        data = module.DESCRIPTOR.serialized_pb
    elif path in _schema().sections:
        table = _schema()
        for dependency in table.imports[path]:
            _build(dependency)
        data = table.descriptor(path).SerializeToString()
    else:
        data = _registered(path)
    _pool.AddSerializedFile(data)
    _files[path] = MappingProxyType(file_names(_pool.FindFileByName(path)))
    return _files[path]


def _registered(path: str) -> bytes:
    """Return the descriptor of a file that another library has registered, its imports built."""
    from google.protobuf import descriptor_pool

    found = descriptor_pool.Default().FindFileByName(path)
    for dependency in found.dependencies:
        _build(dependency.name)
    data: bytes = found.serialized_pb
    return data


def imported_by(file: FileDescriptorProto) -> bool:
    """Return True if a file imports one of TensorFlow's, or one that was added to them."""
    return any(path in _added or path in _schema().sections for path in file.dependency)


def add(serialized: bytes) -> FileDescriptor:
    """Put another library's file into the pool of TensorFlow's, for it imports some of them.

    Its messages then hold TensorFlow's, of the same classes as everywhere. The caller makes the
    classes of the file itself, by its descriptor, which is returned. KeyError if nobody has
    registered a file that it imports, TypeError if protobuf found it to be wrong.
    """
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    file = FileDescriptorProto.FromString(serialized)
    with _lock:
        for dependency in file.dependency:
            if dependency not in _added:
                _build(dependency)
        assert _pool is not None, f"{file.name} imports nothing"
        _pool.AddSerializedFile(serialized)
        _added.add(file.name)
        return _pool.FindFileByName(file.name)


def paths() -> list[str]:
    """Return the path of every known file, e.g. ``tensorflow/core/framework/graph.proto``."""
    return list(_schema().sections)


def file(path: str) -> Mapping[str, Any]:
    """Return the contents of a generated module: messages, enums, values and ``DESCRIPTOR``.

    The path is that of a file such as ``tensorflow/core/framework/graph.proto``; KeyError if
    TensorFlow 1.15 has no such file.
    """
    if path not in _schema().sections:
        raise KeyError(path)
    with _lock:
        return _build(path)


def find_message(full_name: str) -> Any:
    """Return the descriptor of ``tensorflow.Features.FeatureEntry`` or the like, or None."""
    table = _schema()
    for path in table.sections:
        package = table.packages[path] + "."
        outermost = full_name.removeprefix(package).partition(".")[0]
        if full_name.startswith(package) and outermost in table.names(path):
            pool = file(path)["DESCRIPTOR"].pool
            try:
                return pool.FindMessageTypeByName(full_name)
            except KeyError:  # an enum, or a name within one
                continue
    return None


def __getattr__(name: str) -> Any:
    if not name.startswith("__"):
        _schema()
        path = _index.get(name)
        if path is not None:
            value = globals()[name] = file(path)[name]
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    _schema()
    return sorted({*globals(), *_index})
