"""Texts as rows of numbers: of words, or of bytes."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from stillflow.files.file_io import FileIO
from stillflow.graph.export import export, export_value
from stillflow.util import pickles
from stillflow.util.deprecation import deprecated
from stillflow.util.notices import noticed
from stillflow_contrib.learn.preprocessing.categorical_vocabulary import CategoricalVocabulary

_INSTEAD = "Please use tensorflow/transform or tf.data."

TOKENIZER_RE = export_value(
    "contrib.learn.preprocessing.TOKENIZER_RE",
    "contrib.learn.preprocessing.text.TOKENIZER_RE",
    re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z][a-z]+(?=[A-Z])|[\'\w\-]+", re.UNICODE),
)


@export("contrib.learn.preprocessing.tokenizer", "contrib.learn.preprocessing.text.tokenizer")
def tokenizer(iterator: Iterable[str]) -> Iterator[list[str]]:
    """Yield the words of each text."""
    for value in iterator:
        yield TOKENIZER_RE.findall(value)


@export(
    "contrib.learn.preprocessing.ByteProcessor", "contrib.learn.preprocessing.text.ByteProcessor"
)
class ByteProcessor:
    """Conversion of texts to rows of bytes.

    Args:
      max_document_length: longer texts are cut off, shorter ones end in zeros.
    """

    @deprecated(None, _INSTEAD)
    def __init__(self, max_document_length: int) -> None:
        self.max_document_length = max_document_length

    def fit(self, x: Any) -> None:
        """Nothing: bytes need not be learnt."""

    def fit_transform(self, x: Iterable[str | bytes]) -> Iterator[np.ndarray]:
        """Return the same as `transform`."""
        return self.transform(x)

    def reverse(self, x: Iterable[np.ndarray]) -> Iterator[str]:
        """Yield the texts of rows of bytes, "" if not UTF-8."""
        for data in x:
            try:
                yield np.trim_zeros(data.astype(np.int8), trim="b").tobytes().decode("utf-8")
            except UnicodeDecodeError:
                yield ""

    def transform(self, x: Iterable[str | bytes]) -> Iterator[np.ndarray]:
        """Yield the rows, uint8 [max_document_length], of texts, which are encoded as UTF-8."""
        for document in x:
            content = document.encode("utf-8") if isinstance(document, str) else document
            row = np.frombuffer(content[: self.max_document_length], np.uint8)
            yield np.pad(row, (0, self.max_document_length - len(row)), "constant")


@export(
    "contrib.learn.preprocessing.VocabularyProcessor",
    "contrib.learn.preprocessing.text.VocabularyProcessor",
)
class VocabularyProcessor:
    """Conversion of texts to rows of words' numbers.

    Args:
      max_document_length: longer texts are cut off, shorter ones end in zeros.
      min_frequency: words that come so often or less count as unknown, if it is not 0.
      vocabulary: a `CategoricalVocabulary`; by default an empty one.
      tokenizer_fn: gives the words of each of several texts, as `tokenizer` does.
    """

    @noticed("contrib.learn.preprocessing.VocabularyProcessor")
    def __init__(
        self,
        max_document_length: int,
        min_frequency: int = 0,
        vocabulary: CategoricalVocabulary | None = None,
        tokenizer_fn: Callable[[Iterable[str]], Iterable[list[str]]] | None = None,
    ) -> None:
        self.max_document_length = max_document_length
        self.min_frequency = min_frequency
        self.vocabulary_ = vocabulary or CategoricalVocabulary()
        self._tokenizer = tokenizer_fn or tokenizer

    def fit(self, raw_documents: Iterable[str], unused_y: Any = None) -> VocabularyProcessor:
        """Learns the words of texts, and no others from then on; gives itself."""
        for tokens in self._tokenizer(raw_documents):
            for token in tokens:
                self.vocabulary_.add(token)
        if self.min_frequency > 0:
            self.vocabulary_.trim(self.min_frequency)
        self.vocabulary_.freeze()
        return self

    def fit_transform(
        self, raw_documents: Iterable[str], unused_y: Any = None
    ) -> Iterator[np.ndarray]:
        """Learns the words of texts, and gives their rows."""
        self.fit(raw_documents)
        return self.transform(raw_documents)

    def transform(self, raw_documents: Iterable[str]) -> Iterator[np.ndarray]:
        """Yield the rows of texts, int64 [max_document_length]."""
        for tokens in self._tokenizer(raw_documents):
            row = np.zeros(self.max_document_length, np.int64)
            for place, token in zip(range(self.max_document_length), tokens, strict=False):
                row[place] = self.vocabulary_.get(token)
            yield row

    def reverse(self, documents: Iterable[Iterable[int]]) -> Iterator[str]:
        """Yield the texts of rows, words with a blank between them."""
        for row in documents:
            yield " ".join([self.vocabulary_.reverse(number) for number in row])

    def save(self, filename: str) -> None:
        """Write it to a file, which TensorFlow can read.

        Raises:
          pickle.PicklingError: if it was made with a `tokenizer_fn`, as files that name any
            function could run anything when they are read.
        """
        with FileIO(filename, "wb") as file:
            file.write(pickles.dumps(self, _SAVED, "a vocabulary"))

    @classmethod
    def restore(cls, filename: str) -> VocabularyProcessor:
        """Read a file of `save`, written here or in TensorFlow.

        Raises:
          pickle.UnpicklingError: if the file holds anything else.
        """
        with FileIO(filename, "rb") as file:
            return pickles.loads(file.read(), _SAVED, "a vocabulary")


# The parts of a file, by TensorFlow's names.
_PREPROCESSING = "tensorflow.contrib.learn.python.learn.preprocessing"
_SAVED = {
    (f"{_PREPROCESSING}.text", "VocabularyProcessor"): VocabularyProcessor,
    (f"{_PREPROCESSING}.text", "tokenizer"): tokenizer,
    (f"{_PREPROCESSING}.categorical_vocabulary", "CategoricalVocabulary"): CategoricalVocabulary,
    ("collections", "defaultdict"): defaultdict,
    ("builtins", "int"): int,
}
