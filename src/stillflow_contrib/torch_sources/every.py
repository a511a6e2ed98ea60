"""Import this to have all cards know their sources; it provides the plain functions."""

from __future__ import annotations

from stillflow.export.functions import object_sources, plain_functions
from stillflow_contrib.torch_sources import containers as containers
from stillflow_contrib.torch_sources import objects, plain, plain_messages
from stillflow_contrib.torch_sources import random_numbers as random_numbers
from stillflow_contrib.torch_sources import tables as tables
from stillflow_contrib.torch_sources import tensor_arrays as tensor_arrays
from stillflow_contrib.torch_sources import tensor_lists as tensor_lists

plain_functions.provide({**plain.PLAIN, **plain_messages.PLAIN})
object_sources.provide(objects.SOURCES)
