"""tf.sysconfig: the headers, and the flags that compile operations written in C++.

The library that old build commands link against is a linker script without content: everything
that an operation calls is in the headers.
"""

from __future__ import annotations

import os
import platform
import sys

from stillflow._export import export
from stillflow.version import CXX11_ABI_FLAG, MONOLITHIC_BUILD, VERSION

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_EIGEN = os.path.join("cmeel.prefix", "include", "eigen3")  # of the package cmeel-eigen


@export("sysconfig.get_include")
def get_include() -> str:
    """Return the folder of the C++ headers."""
    return os.path.join(_ROOT, "include")


@export("sysconfig.get_lib")
def get_lib() -> str:
    """Return the folder of what old commands link against."""
    return _ROOT


def eigen_folder() -> str | None:
    """Return the folder of Eigen's headers where a package holds them, else None.

    Next to this package (in one site-packages) the headers find them without a flag.
    """
    for folder in sys.path:
        path = os.path.join(folder or os.curdir, _EIGEN)
        if os.path.isdir(path):
            return os.path.abspath(path)
    return None


@export("sysconfig.get_compile_flags")
def get_compile_flags() -> list[str]:
    """Return the flags for the compiler."""
    flags = [f"-I{get_include()}", f"-D_GLIBCXX_USE_CXX11_ABI={CXX11_ABI_FLAG}"]
    eigen = eigen_folder()
    if eigen not in (None, os.path.join(os.path.dirname(_ROOT), _EIGEN)):
        flags.append(f"-I{eigen}")
    return flags


@export("sysconfig.get_link_flags")
def get_link_flags() -> list[str]:
    """Return the flags for the linker."""
    if MONOLITHIC_BUILD:
        return []
    major = VERSION.partition(".")[0]
    is_mac = platform.system() == "Darwin"
    library = f"tensorflow_framework.{major}" if is_mac else f":libtensorflow_framework.so.{major}"
    return [f"-L{get_lib()}", f"-l{library}"]
