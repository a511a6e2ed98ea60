"""Description of a data set: its place and its reader."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export


@export("contrib.slim.dataset.Dataset")
class Dataset:
    """A data set; all arguments are attributes of it.

    Args:
      data_sources: files, or patterns of files.
      reader: a class of `tf.ReaderBase`.
      decoder: a `DataDecoder`.
      num_samples: how many examples there are.
      items_to_descriptions: {name of an item: what it is}.
      **kwargs: further attributes.
    """

    def __init__(
        self, data_sources: Any, reader: Any, decoder: Any, num_samples: Any,
        items_to_descriptions: Any, **kwargs: Any,
    ) -> None:  # fmt: skip
        vars(self).update(
            kwargs, data_sources=data_sources, reader=reader, decoder=decoder,
            num_samples=num_samples, items_to_descriptions=items_to_descriptions,
        )  # fmt: skip
