"""TensorFlow's protobuf messages and enums, by their names.

``from stillflow.protos import GraphDef, AttrValue, DataType, DT_FLOAT``.  Every name is built when
it is first asked for, into a descriptor pool of our own: nothing clashes with another library that
has registered messages of the same names.  Where two packages declare the same short name, the
one of package ``tensorflow`` is meant; ``file(path)`` reaches the others.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from google.protobuf.descriptor_pool import DescriptorPool

    from stillflow.protos.schema import Table

_table: Table | None = None
_pool: DescriptorPool | None = None
_index: dict[str, str] = {}
_files: dict[str, Mapping[str, Any]] = {}


def _schema() -> Table:
    global _table
    if _table is None:
        from stillflow.protos.schema import Table

        table = Table()
        # Later entries win, so files of the main package come last.
        for path in sorted(table.sections, key=lambda path: table.packages[path] == "tensorflow"):
            _index.update(dict.fromkeys(table.names(path), path))
        _table = table
    return _table


def _add(path: str) -> None:
    """Put a file and what it imports into the pool."""
    assert _pool is not None
    try:
        _pool.FindFileByName(path)
        return
    except KeyError:
        pass
    if path.startswith("google/protobuf/"):
        import importlib

        module = importlib.import_module(path.removesuffix(".proto").replace("/", ".") + "_pb2")
        _pool.AddSerializedFile(module.DESCRIPTOR.serialized_pb)
        return
    table = _schema()
    for dependency in table.imports[path]:
        _add(dependency)
    _pool.AddSerializedFile(table.descriptor(path).SerializeToString())


def paths() -> list[str]:
    """Return the path of every known file, e.g. ``tensorflow/core/framework/graph.proto``."""
    return list(_schema().sections)


def file(path: str) -> Mapping[str, Any]:
    """Return what the generated module of a ``.proto`` file would hold.

    Args:
      path: the file's path, e.g. ``tensorflow/core/framework/graph.proto``.

    Returns:
      Its messages, enums, top-level enum values and ``DESCRIPTOR``, by name.

    Raises:
      KeyError: TensorFlow 1.15 has no such file.
    """
    global _pool
    if path not in _files:
        from google.protobuf.descriptor_pool import DescriptorPool

        from stillflow.protos.classes import file_names

        if path not in _schema().sections:
            raise KeyError(path)
        if _pool is None:
            _pool = DescriptorPool()
        _add(path)
        _files[path] = MappingProxyType(file_names(_pool.FindFileByName(path)))
    return _files[path]


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
