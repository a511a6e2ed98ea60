"""Internal names of TensorFlow that have an equivalent of our own outside the public API.

Add a line where an old program needs one: {internal module: {name: "stillflow.module:object"}}.
A value without ":" is a whole module; the name "*" gives the modules, separated by blanks, that are
asked for every other name.
"""

from __future__ import annotations

# Internal packages whose modules have the names of a public namespace's.
PACKAGES = {
    "tensorflow.contrib.learn.python.learn.datasets": "contrib.learn.datasets",
    "tensorflow.contrib.slim.python.slim.nets": "contrib.slim.nets",
    "tensorflow.python.keras.api._v1.keras": "keras",
}

OBJECTS: dict[str, dict[str, str]] = {
    "tensorflow.python.platform.flags": {"*": "stillflow.platform.flags"},
    "tensorflow.python.platform.tf_logging": {"*": "stillflow.platform.tf_logging"},
    "tensorflow.python.platform.app": {"*": "stillflow.platform.app"},
    "tensorflow.python.platform.resource_loader": {"*": "stillflow.platform.resource_loader"},
    "tensorflow.python.util.compat": {"*": "stillflow.platform.compat"},
    "tensorflow.python.framework.errors": {"*": "stillflow.errors"},
    "tensorflow.python.framework.errors_impl": {"*": "stillflow.errors"},
}
