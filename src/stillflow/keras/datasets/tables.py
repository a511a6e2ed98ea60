"""Data sets of numbers and of texts: Boston's houses, IMDB's reviews, Reuters' news."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillflow.graph.export import export
from stillflow.keras.datasets.images import ORIGIN, Split
from stillflow.keras.utils.downloads import get_file
from stillflow.platform import tf_logging as logging


@export("keras.datasets.boston_housing.load_data")
def load_boston_housing(
    path: str = "boston_housing.npz", test_split: float = 0.2, seed: int = 113
) -> tuple[Split, Split]:
    """Prices of houses in Boston, for training and for testing.

    Args:
      path: where it is kept, from ~/.keras/datasets on.
      test_split: the part that is for testing.
      seed: of the order.
    """
    assert 0 <= test_split < 1
    file_hash = "f553886a1f8d56431e820c5b82552d9d95cfcb96d1e678153f8839538947dff5"
    path = get_file(path, origin=ORIGIN + "boston_housing.npz", file_hash=file_hash)
    with np.load(path) as arrays:
        x, y = arrays["x"], arrays["y"]
    np.random.seed(seed)
    order = _shuffled(len(x))
    count = int(len(x) * (1 - test_split))
    x, y = x[order], y[order]
    return (x[:count], y[:count]), (x[count:], y[count:])


@export("keras.datasets.imdb.load_data")
def load_imdb(
    path: str = "imdb.npz",
    num_words: int | None = None,
    skip_top: int = 0,
    maxlen: int | None = None,
    seed: int = 113,
    start_char: int | None = 1,
    oov_char: int | None = 2,
    index_from: int = 3,
    **kwargs: Any,
) -> tuple[Split, Split]:
    """Reviews of films as lists of numbers of words, and whether they praise.

    Args:
      path: where it is kept, from ~/.keras/datasets on.
      num_words: words that come later in the order of frequency are left out.
      skip_top: how many of the most frequent words are left out.
      maxlen: longer reviews are left out.
      seed: of the order.
      start_char: first word of each.
      oov_char: what is in the place of words that are left out.
      index_from: what is added to the numbers.
      kwargs: the old name of `num_words`.

    Raises:
      ValueError: if no review is short enough.
    """
    num_words = _renamed(num_words, kwargs)
    file_hash = "69664113be75683a8fe16e3ed0ab59fda8886cb3cd7ada244f7d9544e4676b9f"
    path = get_file(path, origin=ORIGIN + "imdb.npz", file_hash=file_hash)
    with np.load(path, allow_pickle=True) as arrays:
        train = arrays["x_train"], arrays["y_train"]
        test = arrays["x_test"], arrays["y_test"]
    np.random.seed(seed)
    orders = [_shuffled(len(train[0])), _shuffled(len(test[0]))]
    texts, labels = (np.concatenate([train[n][orders[0]], test[n][orders[1]]]) for n in range(2))
    lists, labels = _as_lists(texts, labels, start_char, index_from, maxlen)
    if not lists:
        raise ValueError(
            f"After filtering for sequences shorter than maxlen={maxlen}, no sequence was kept. "
            "Increase maxlen."
        )
    lists = _with_words(lists, num_words, skip_top, oov_char)
    return _split(lists, labels, len(train[0]))


@export("keras.datasets.reuters.load_data")
def load_reuters(
    path: str = "reuters.npz",
    num_words: int | None = None,
    skip_top: int = 0,
    maxlen: int | None = None,
    test_split: float = 0.2,
    seed: int = 113,
    start_char: int | None = 1,
    oov_char: int | None = 2,
    index_from: int = 3,
    **kwargs: Any,
) -> tuple[Split, Split]:
    """News as lists of numbers of words, and their topics.

    Args:
      test_split: the part that is for testing.
      See `imdb.load_data` for the others.
    """
    num_words = _renamed(num_words, kwargs)
    file_hash = "d6586e694ee56d7a4e65172e12b3e987c03096cb01eab99753921ef915959916"
    path = get_file(path, origin=ORIGIN + "reuters.npz", file_hash=file_hash)
    with np.load(path, allow_pickle=True) as arrays:
        texts, labels = arrays["x"], arrays["y"]
    np.random.seed(seed)
    order = _shuffled(len(texts))
    lists, labels = _as_lists(texts[order], labels[order], start_char, index_from, maxlen)
    lists = _with_words(lists, num_words, skip_top, oov_char)
    return _split(lists, labels, int(len(lists) * (1 - test_split)))


@export("keras.datasets.imdb.get_word_index")
def get_imdb_word_index(path: str = "imdb_word_index.json") -> dict[str, int]:
    """Return the words' numbers, without `index_from`."""
    return _read_json(path, "imdb_word_index.json", "bfafd718b763782e994055a2d397834f")


@export("keras.datasets.reuters.get_word_index")
def get_reuters_word_index(path: str = "reuters_word_index.json") -> dict[str, int]:
    """Return the words' numbers, without `index_from`."""
    return _read_json(path, "reuters_word_index.json", "4d44cc38712099c9e383dc6e5f11a921")


def _read_json(path: str, name: str, file_hash: str) -> dict[str, int]:
    with open(get_file(path, origin=ORIGIN + name, file_hash=file_hash)) as file:
        content: dict[str, int] = json.load(file)
        return content


def _renamed(num_words: int | None, more: dict[str, Any]) -> int | None:
    if "nb_words" in more:
        logging.warning("The `nb_words` argument in `load_data` has been renamed `num_words`.")
        num_words = more.pop("nb_words")
    if more:
        raise TypeError(f"Unrecognized keyword arguments: {more}")
    return num_words


def _shuffled(count: int) -> NDArray[Any]:
    order = np.arange(count)
    np.random.shuffle(order)
    return order


def _as_lists(
    texts: Any, labels: Any, start_char: int | None, index_from: int, maxlen: int | None
) -> tuple[list[list[int]], Any]:
    start = [] if start_char is None else [start_char]
    added = index_from or 0
    lists = [start + [word + added for word in text] for text in texts]
    if maxlen:
        kept = [n for n, text in enumerate(lists) if len(text) < maxlen]
        lists, labels = [lists[n] for n in kept], [labels[n] for n in kept]
    return lists, labels


def _with_words(
    lists: list[list[int]], num_words: int | None, skip_top: int, oov_char: int | None
) -> list[list[int]]:
    kept = range(skip_top, num_words or max(max(text) for text in lists))
    if oov_char is None:
        return [[word for word in text if word in kept] for text in lists]
    return [[word if word in kept else oov_char for word in text] for text in lists]


def _split(lists: list[list[int]], labels: Any, count: int) -> tuple[Split, Split]:
    texts = np.empty(len(lists), dtype=object)
    texts[:] = lists
    labels = np.array(labels)
    return (texts[:count], labels[:count]), (texts[count:], labels[count:])
