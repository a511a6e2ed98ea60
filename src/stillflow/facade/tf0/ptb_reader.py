"""Reader of the Penn Treebank's text, `tensorflow.models.rnn.ptb.reader`."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np


def ptb_raw_data(data_path: str) -> tuple[list[int], list[int], list[int], int]:
    """Read ptb.train.txt, ptb.valid.txt and ptb.test.txt of a folder as numbers of words.

    Words are numbered from the most frequent on, equally frequent ones by the alphabet.

    Returns:
      The three sequences, and how many words the vocabulary has.
    """
    texts = [_words(os.path.join(data_path, f"ptb.{part}.txt")) for part in _PARTS]
    counted = sorted(Counter(texts[0]).items(), key=lambda item: (-item[1], item[0]))
    numbers = {word: number for number, (word, _) in enumerate(counted)}
    train, valid, test = ([numbers[word] for word in text if word in numbers] for text in texts)
    return train, valid, test, len(numbers)


_PARTS = ("train", "valid", "test")


def _words(path: str) -> list[str]:
    with open(path, encoding="utf-8") as file:
        return file.read().replace("\n", " <eos> ").split()


def ptb_iterator(
    raw_data: Sequence[int], batch_size: int, num_steps: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield batches of words and of the words after them, each [batch_size, num_steps].

    Raises:
      ValueError: the text is too short for one batch.
    """
    columns = len(raw_data) // batch_size
    epochs = (columns - 1) // num_steps
    if epochs == 0:
        raise ValueError("epoch_size == 0, decrease batch_size or num_steps")
    rows = np.array(raw_data[: batch_size * columns], np.int32).reshape(batch_size, columns)
    for begin in range(0, epochs * num_steps, num_steps):
        yield rows[:, begin : begin + num_steps], rows[:, begin + 1 : begin + num_steps + 1]
