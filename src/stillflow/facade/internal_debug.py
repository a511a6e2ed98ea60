"""Names of `tensorflow.python.debug`, which programs import though it is no public namespace."""

from __future__ import annotations

_OURS = "stillflow.debug"
_DEBUG = "tensorflow.python.debug"

_LIB = {
    "debug_data": f"{_OURS}.dump_dir {_OURS}.tensor_dump",
    "debug_gradients": f"{_OURS}.gradients",
    "debug_graphs": f"{_OURS}.dumped_graph",
    "debug_utils": f"{_OURS}.watching",
}
_WRAPPERS = {
    "dumping_wrapper": f"{_OURS}.dumping",
    "framework": f"{_OURS}.watching {_OURS}.wrapper_session",
    "grpc_wrapper": f"{_OURS}.remote",
    "hooks": f"{_OURS}.dumping {_OURS}.local_cli {_OURS}.remote",
    "local_cli_wrapper": f"{_OURS}.local_cli",
}

OBJECTS: dict[str, dict[str, str]] = {
    _DEBUG: {"*": " ".join(dict.fromkeys(" ".join([*_LIB.values(), *_WRAPPERS.values()]).split()))},
    f"{_DEBUG}.cli": {},
    f"{_DEBUG}.cli.analyzer_cli": {"*": f"{_OURS}.console.analyzer"},
    f"{_DEBUG}.lib": {},
    f"{_DEBUG}.wrappers": {},
    **{f"{_DEBUG}.lib.{name}": {"*": modules} for name, modules in _LIB.items()},
    **{f"{_DEBUG}.wrappers.{name}": {"*": modules} for name, modules in _WRAPPERS.items()},
}
