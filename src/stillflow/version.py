"""The versions that programs ask for: tf.VERSION, tf.version.GRAPH_DEF_VERSION and their kin."""

from __future__ import annotations

from stillflow._export import export_value

VERSION = export_value(
    "VERSION", "version.VERSION", "__version__", "compat.v2.__version__", "1.15.5"
)
GIT_VERSION = export_value(
    "GIT_VERSION", "version.GIT_VERSION", "__git_version__", "compat.v2.__git_version__",
    "v1.15.4-39-g3db52be",
)  # fmt: skip
COMPILER_VERSION = export_value(
    "COMPILER_VERSION", "version.COMPILER_VERSION", "__compiler_version__",
    "compat.v2.__compiler_version__", "7.3.1 20180303",
)  # fmt: skip
GRAPH_DEF_VERSION = export_value("GRAPH_DEF_VERSION", "version.GRAPH_DEF_VERSION", 134)
GRAPH_DEF_VERSION_MIN_CONSUMER = export_value(
    "GRAPH_DEF_VERSION_MIN_CONSUMER", "version.GRAPH_DEF_VERSION_MIN_CONSUMER", 0
)
GRAPH_DEF_VERSION_MIN_PRODUCER = export_value(
    "GRAPH_DEF_VERSION_MIN_PRODUCER", "version.GRAPH_DEF_VERSION_MIN_PRODUCER", 0
)
CXX11_ABI_FLAG = export_value(
    "CXX11_ABI_FLAG", "sysconfig.CXX11_ABI_FLAG", "__cxx11_abi_flag__",
    "compat.v2.__cxx11_abi_flag__", 0,
)  # fmt: skip
MONOLITHIC_BUILD = export_value(
    "MONOLITHIC_BUILD", "sysconfig.MONOLITHIC_BUILD", "__monolithic_build__",
    "compat.v2.__monolithic_build__", 0,
)  # fmt: skip
