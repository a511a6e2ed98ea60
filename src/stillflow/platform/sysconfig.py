"""tf.sysconfig: where the headers and the library for custom operations would be.

Operations written in C++ for TensorFlow cannot be loaded by Stillflow; these paths exist so that
programs which print or pass them on keep running.
"""

from __future__ import annotations

import os
import platform

from stillflow._export import export
from stillflow.version import CXX11_ABI_FLAG, MONOLITHIC_BUILD, VERSION

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


@export("sysconfig.get_include")
def get_include() -> str:
    """Return the folder for C++ headers; there are none."""
    return os.path.join(_ROOT, "include")


@export("sysconfig.get_lib")
def get_lib() -> str:
    """Return the folder for the framework's library; there is none."""
    return _ROOT


@export("sysconfig.get_compile_flags")
def get_compile_flags() -> list[str]:
    """Return the flags of a compiler."""
    return [f"-I{get_include()}", f"-D_GLIBCXX_USE_CXX11_ABI={CXX11_ABI_FLAG}"]


@export("sysconfig.get_link_flags")
def get_link_flags() -> list[str]:
    """Return the flags of a linker."""
    if MONOLITHIC_BUILD:
        return []
    major = VERSION.partition(".")[0]
    is_mac = platform.system() == "Darwin"
    library = f"tensorflow_framework.{major}" if is_mac else f":libtensorflow_framework.so.{major}"
    return [f"-L{get_lib()}", f"-l{library}"]
