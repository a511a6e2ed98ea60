"""Import this to have all cards know their sources."""

from __future__ import annotations

from stillflow.ops.torch_sources import arrays as arrays
from stillflow.ops.torch_sources import images as images
from stillflow.ops.torch_sources import indexing as indexing
from stillflow.ops.torch_sources import layers as layers
from stillflow.ops.torch_sources import numbers as numbers
from stillflow.ops.torch_sources import random as random
from stillflow.ops.torch_sources import sizes as sizes
