"""Seed a program when it imports TensorFlow, so that two runs of it can be compared.

Runs on Python 3.7 as well. Every graph gets the seed 1, as after `tf.set_random_seed(1)` in its
first line; NumPy and Python's `random` are seeded once.
"""

import builtins
import random
import sys

plain_import = builtins.__import__


def seeded_import(name, *arguments, **keywords):
    module = plain_import(name, *arguments, **keywords)
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is not None and name.partition(".")[0] == "tensorflow":
        spec = getattr(tensorflow, "__spec__", None)
        if not getattr(spec, "_initializing", False):
            builtins.__import__ = plain_import
            seed(tensorflow)
    return module


def seed(tensorflow):
    import numpy

    random.seed(1)
    numpy.random.seed(1)
    graph = tensorflow.Graph
    create = graph.__init__

    def create_with_seed(self, *arguments, **keywords):
        create(self, *arguments, **keywords)
        self.seed = 1

    graph.__init__ = create_with_seed
    tensorflow.get_default_graph().seed = 1


builtins.__import__ = seeded_import
