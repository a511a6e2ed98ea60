"""Reading data sets from CSV files, and fetching files."""

from __future__ import annotations

import csv
import importlib
import os
import shutil
import tempfile
import urllib.error
import urllib.request
from collections import namedtuple
from pathlib import Path
from typing import Any

import numpy as np

from stillflow._export import export, export_value
from stillflow.util import downloads

Dataset = namedtuple("Dataset", ["data", "target"])
Datasets = namedtuple("Datasets", ["train", "validation", "test"])
export_value("contrib.learn.datasets.base.Dataset", Dataset)
export_value("contrib.learn.datasets.base.Datasets", Datasets)


@export("contrib.learn.datasets.base.load_csv_with_header")
def load_csv_with_header(
    filename: str, target_dtype: Any, features_dtype: Any, target_column: int = -1
) -> Any:
    """Read a CSV file whose first row begins with the numbers of rows and of features.

    Args:
      filename: the file.
      target_dtype: the NumPy type of the targets.
      features_dtype: the NumPy type of the features.
      target_column: where in a row the target stands.

    Returns:
      A `Dataset` of data [rows, features] and target [rows].
    """
    with open(filename, newline="") as file:
        rows = csv.reader(file)
        count, width = (int(text) for text in next(rows)[:2])
        data = np.zeros((count, width), features_dtype)
        target = np.zeros((count,), target_dtype)
        for index, row in enumerate(rows):
            target[index] = np.asarray(row.pop(target_column), target_dtype)
            data[index] = np.asarray(row, features_dtype)
    return Dataset(data=data, target=target)


@export("contrib.learn.datasets.base.load_csv_without_header")
def load_csv_without_header(
    filename: str, target_dtype: Any, features_dtype: Any, target_column: int = -1
) -> Any:
    """Read a CSV file that has data in all of its rows; see `load_csv_with_header`."""
    data, target = [], []
    with open(filename, newline="") as file:
        for row in csv.reader(file):
            target.append(row.pop(target_column))
            data.append(np.asarray(row, features_dtype))
    return Dataset(data=np.array(data), target=np.array(target, target_dtype))


@export("contrib.learn.datasets.base.shrink_csv")
def shrink_csv(filename: str, ratio: int) -> None:
    """Write every `ratio`-th row of data.csv to data_small.csv."""
    with open(filename, newline="") as file:
        rows = [row for index, row in enumerate(csv.reader(file)) if index % ratio == 0]
    with open(filename.replace(".", "_small."), "w", newline="") as file:
        csv.writer(file).writerows(rows)


@export("contrib.learn.datasets.load_iris", "contrib.learn.datasets.base.load_iris")
def load_iris(data_path: str | None = None) -> Any:
    """Read the iris data set.

    Args:
      data_path: a CSV file; by default scikit-learn's copy is used.

    Raises:
      ImportError: no file is given and scikit-learn is not installed.
    """
    if data_path is not None:
        return load_csv_with_header(data_path, int, float)
    try:
        datasets = importlib.import_module("sklearn.datasets")
    except ImportError:
        raise ImportError(
            "load_iris() takes the data from scikit-learn (pip install scikit-learn), or from a "
            "CSV file: load_iris(data_path)"
        ) from None
    found = datasets.load_iris()
    return Dataset(data=found.data, target=found.target)


@export("contrib.learn.datasets.load_boston", "contrib.learn.datasets.base.load_boston")
def load_boston(data_path: str | None = None) -> Any:
    """Read the Boston housing data set from a CSV file.

    Raises:
      ValueError: no file is given; Stillflow has no copy of the data.
    """
    if data_path is None:
        raise ValueError(
            "Stillflow has no copy of the Boston housing data; give a CSV file: "
            "load_boston(data_path)"
        )
    return load_csv_with_header(data_path, float, float)


@export("contrib.learn.datasets.base.maybe_download")
def maybe_download(filename: str, work_directory: str, source_url: str) -> str:
    """Fetch a file unless it is there already, or among the user's copies (STILLFLOW_DATA).

    Args:
      filename: its name.
      work_directory: the folder for it, which is made if need be.
      source_url: where to fetch it from.

    Returns:
      Its path.

    Raises:
      OSError: it can be neither found nor fetched.
    """
    os.makedirs(work_directory, exist_ok=True)
    path = os.path.join(work_directory, filename)
    if not os.path.exists(path):
        copy = downloads.provided(source_url)
        # A download that fails must not leave a partial file under the final name.
        handle, partial = tempfile.mkstemp(prefix=filename, dir=work_directory)
        try:
            address = Path(copy).absolute().as_uri() if copy else source_url
            with os.fdopen(handle, "wb") as file, urllib.request.urlopen(address) as source:
                shutil.copyfileobj(source, file)
            os.replace(partial, path)
        except (OSError, ValueError) as error:
            os.remove(partial)
            raise OSError(
                f"cannot fetch {source_url} ({error}); " + downloads.advice(source_url, path)
            ) from error
        print("Successfully downloaded", filename, os.path.getsize(path), "bytes.")
    return path
