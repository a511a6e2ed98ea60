"""Internal names of TensorFlow that have an equivalent of our own outside the public API.

Add a line where an old program needs one, to OBJECTS: {internal module: {name:
"stillflow.module:object"}}.  A value without ":" is a module; the name "*" gives the modules,
separated by blanks, that are asked for every other name.
"""

from __future__ import annotations

# Internal packages whose modules have the names of a public namespace's.
PACKAGES = {
    "tensorflow.contrib.learn.python.learn.datasets": "contrib.learn.datasets",
    "tensorflow.contrib.slim.python.slim.nets": "contrib.slim.nets",
    "tensorflow.python.keras.api._v1.keras": "keras",
}

# Internal modules that we have whole: the very module, so that patching it has an effect.
MODULES = {
    "tensorflow.examples.tutorials.mnist.input_data": "stillflow.contrib.learn.datasets.mnist",
    "tensorflow.python.compat.compat": "stillflow.platform.compat",
    "tensorflow.python.eager.context": "stillflow.facade.eager_context",
    "tensorflow.python.framework.test_util": "stillflow.testing.test_util",
    "tensorflow.python.framework.versions": "stillflow.version",
    "tensorflow.python.platform.app": "stillflow.platform.app",
    "tensorflow.python.platform.flags": "stillflow.platform.flags",
    "tensorflow.python.platform.resource_loader": "stillflow.platform.resource_loader",
    "tensorflow.python.platform.sysconfig": "stillflow.platform.sysconfig",
    "tensorflow.python.platform.tf_logging": "stillflow.platform.tf_logging",
    "tensorflow.python.tf2": "stillflow.facade.tf2",
    "tensorflow.python.util.all_util": "stillflow.util.all_util",
    "tensorflow.python.util.compat": "stillflow.platform.compat",
    "tensorflow.python.util.decorator_utils": "stillflow.util.decorator_utils",
    "tensorflow.python.util.deprecation": "stillflow.util.deprecation",
    "tensorflow.python.util.function_utils": "stillflow.util.function_utils",
    "tensorflow.python.util.keyword_args": "stillflow.util.keyword_args",
    "tensorflow.python.util.tf_contextlib": "stillflow.util.tf_contextlib",
    "tensorflow.python.util.tf_decorator": "stillflow.util.tf_decorator",
    "tensorflow.python.util.tf_inspect": "stillflow.util.tf_inspect",
}

# Single names of the others.
OBJECTS: dict[str, dict[str, str]] = {
    "tensorflow.python.framework.errors": {"*": "stillflow.errors"},
    "tensorflow.python.framework.errors_impl": {"*": "stillflow.errors"},
    "tensorflow.python.platform.googletest": {
        "*": "stillflow.platform.googletest absl.testing.absltest",
    },
    "tensorflow.python.platform.test": {
        "mock": "unittest.mock",
        "*": "stillflow.platform.googletest",
    },
    "tensorflow.python.util.nest": {"*": "stillflow.nest"},
}
