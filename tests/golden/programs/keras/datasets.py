"""tf.keras.datasets: numbers and texts of files that are there already."""

from __future__ import annotations

import os
import shutil
import tempfile

import numpy as np
from tests.golden.registry import Run, program, raised


def _loaded(load, arrays, *args, **kwargs):
    """Call a function of a data set with a file that it need not download."""
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "data.npz")
    np.savez(path, **arrays)
    known = load.__globals__["get_file"]
    load.__globals__["get_file"] = lambda *unused, **unused_too: path
    state, was_load = np.random.get_state(), np.load
    np.load = lambda file, **options: was_load(file, allow_pickle=True)
    try:
        train, test = load(*args, **kwargs)
    finally:
        load.__globals__["get_file"], np.load = known, was_load
        np.random.set_state(state)
        shutil.rmtree(folder)
    return [[[list(map(int, x)) if hasattr(x, "__len__") else float(x) for x in part]
             for part in pair] for pair in (train, test)]


def _texts(*texts):
    made = np.empty(len(texts), dtype=object)
    made[:] = [list(text) for text in texts]
    return made


_TEXTS = _texts([5, 1, 2], [3], [9, 4, 4, 8, 2], [7, 7], [1, 2, 3, 4])


@program
def prices_of_houses(tf):
    load = tf.keras.datasets.boston_housing.load_data
    arrays = {"x": np.arange(20).reshape(10, 2), "y": np.arange(10.0)}
    return Run(facts={"default": _loaded(load, arrays), "half": _loaded(
        load, arrays, test_split=0.5, seed=3)})


@program
def reviews_of_films(tf):
    load = tf.keras.datasets.imdb.load_data
    arrays = {"x_train": _TEXTS, "y_train": np.arange(5), "x_test": _TEXTS[1:4],
              "y_test": np.arange(3)}
    return Run(facts={
        "default": _loaded(load, arrays),
        "frequent": _loaded(load, arrays, num_words=8, skip_top=4),
        "left out": _loaded(load, arrays, num_words=9, oov_char=None, start_char=None),
        "short": _loaded(load, arrays, maxlen=4, index_from=0),
        "older name": _loaded(load, arrays, nb_words=6),
        "none": raised(_loaded, load, arrays, maxlen=1),
        "unknown": raised(_loaded, load, arrays, words=1)})


@program
def news(tf):
    load = tf.keras.datasets.reuters.load_data
    arrays = {"x": _TEXTS, "y": np.arange(5)}
    return Run(facts={"default": _loaded(load, arrays), "half": _loaded(
        load, arrays, test_split=0.5, num_words=7, maxlen=5)})
