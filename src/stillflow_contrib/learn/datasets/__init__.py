"""tf.contrib.learn.datasets: small data sets by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow._export import export
from stillflow_contrib.learn.datasets import base, mnist

DATASETS: dict[str, Callable[[], Any]] = {
    "iris": base.load_iris,
    "boston": base.load_boston,
    "mnist": mnist.load_mnist,
}


@export("contrib.learn.datasets.load_dataset")
def load_dataset(name: str, size: str = "small", test_with_fake_data: bool = False) -> Any:
    """Return a data set by its name: iris, boston or mnist.

    Raises:
      ValueError: there is no such data set.
    """
    if name not in DATASETS:
        raise ValueError(f"Name of dataset is not found: {name}")
    return DATASETS[name]()
