"""Sources of operations over PyTorch, where their kernels are not the plainest form.

Kernels check their arguments in TensorFlow's words and choose between ways to compute; a model that
people own does what the operation means. Each function here is a part of the op's card, as its
kernel is; the modules are read only when something is exported.
"""

from stillflow.ops.torch_sources import arrays as arrays
from stillflow.ops.torch_sources import images as images
from stillflow.ops.torch_sources import indexing as indexing
from stillflow.ops.torch_sources import layers as layers
from stillflow.ops.torch_sources import numbers as numbers
from stillflow.ops.torch_sources import random as random
from stillflow.ops.torch_sources import sizes as sizes
from stillflow.ops.torch_sources import tensor_arrays as tensor_arrays
