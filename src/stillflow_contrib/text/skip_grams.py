"""Pairs of words that stand near each other, as vectors of words are learnt from."""

from __future__ import annotations

import csv
import functools
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.random_seed import get_seed
from stillflow.lookup.static_tables import InitializableLookupTableBaseV1
from stillflow.train.batch_functions import batch
from stillflow_contrib.ops.skip_grams import skip_gram_generate_candidates_op

_NOT_FOUND = -1


@export("contrib.text.skip_gram_sample")
def skip_gram_sample(
    input_tensor: Any,
    min_skips: Any = 1,
    max_skips: Any = 5,
    start: Any = 0,
    limit: Any = -1,
    emit_self_as_target: Any = False,
    vocab_freq_table: Any = None,
    vocab_min_count: Any = None,
    vocab_subsampling: float | None = None,
    corpus_size: Any = None,
    batch_size: int | None = None,
    batch_capacity: int | None = None,
    seed: int | None = None,
    name: str | None = None,
) -> list[Tensor] | tuple[Tensor, Tensor]:
    """Pairs each word with those around it, up to a distance that is drawn for each word.

    Args:
      input_tensor: words [n]: strings, int64, int32 or int16.
      min_skips: the least distance that is drawn, an int32 scalar.
      max_skips: the largest one.
      start: where to begin among the words, an int32 scalar.
      limit: how many words to take from there, an int32 scalar; -1 is all.
      emit_self_as_target: whether each word is paired with itself, too; a boolean scalar.
      vocab_freq_table: a table that has how often each word occurs; words that it does not have are
        left out first.
      vocab_min_count: words that are less frequent are left out.
      vocab_subsampling: the part of a text, from 0 to 1, above which a word is so frequent that it
        is left out now and then.
      corpus_size: of how many words the text consists, for `vocab_subsampling`.
      batch_size: how many pairs are given at a time, by a queue; None is all of the words'.
      batch_capacity: of that queue; None is a hundred batches.
      seed: of the draws.
      name: of the scope.

    Returns:
      Words, and the word near each of them; both [pairs].

    Raises:
      ValueError: for settings of a vocabulary without a table, or half of those for frequent words.
    """
    _check_vocabulary(vocab_freq_table, vocab_min_count, vocab_subsampling, corpus_size)
    values = [input_tensor, min_skips, max_skips, start, limit]
    with tf.name_scope(name, "skip_gram_sample", values=values):
        input_tensor = filter_input(
            input_tensor, vocab_freq_table, vocab_min_count, vocab_subsampling, corpus_size, seed
        )
        seed1, seed2 = get_seed(seed)
        pairs = skip_gram_generate_candidates_op(
            input_tensor, min_skips, max_skips, start, limit, emit_self_as_target,
            seed=seed1, seed2=seed2,
        )  # fmt: skip
        if batch_size is None or batch_size <= 0:
            return pairs.tokens, pairs.labels
        if batch_capacity is None or batch_capacity <= 0:
            batch_capacity = 100 * batch_size
        return batch(
            [pairs.tokens, pairs.labels], batch_size, capacity=batch_capacity, enqueue_many=True
        )


def _check_vocabulary(table: Any, min_count: Any, subsampling: Any, corpus_size: Any) -> None:
    given = (min_count, subsampling, corpus_size)
    if table is None and any(setting is not None for setting in given):
        raise ValueError(
            f"vocab_freq_table is not provided, but vocab_min_count={min_count}, "
            f"vocab_subsampling={subsampling}, or corpus_size={corpus_size} is not None. These "
            "settings are useless without a vocab_freq_table."
        )
    if (subsampling is None) != (corpus_size is None):
        raise ValueError(
            f"vocab_subsampling is {subsampling} while corpus_size is {corpus_size} - both must be "
            "provided in order for subsampling to work."
        )


def filter_input(
    input_tensor: Any, vocab_freq_table: Any, vocab_min_count: Any,
    vocab_subsampling: float | None, corpus_size: Any, seed: int | None,
) -> Any:  # fmt: skip
    """Return the words that `skip_gram_sample` takes of those it is given; its arguments."""
    if vocab_freq_table is None:
        return input_tensor
    words, counts = _known(input_tensor, vocab_freq_table, vocab_min_count)
    if not vocab_subsampling:
        return words
    return _thinned(words, counts, vocab_subsampling, corpus_size, seed)


def _known(words: Any, table: Any, min_count: Any) -> tuple[Any, Any]:
    """Return the words that a table has and that are frequent enough, and how often they occur."""
    if not isinstance(table, InitializableLookupTableBaseV1):
        raise ValueError(
            "vocab_freq_table must be a subclass of InitializableLookupTableBase (such as "
            f"HashTable) instead of type {type(table)}."
        )
    with tf.name_scope("filter_vocab", values=[table, words, min_count]):
        counts = table.lookup(words)
        masks = [tf.not_equal(counts, table.default_value)]
        if min_count is not None:
            masks.append(tf.greater_equal(counts, tf.cast(min_count, counts.dtype)))
        kept = functools.reduce(tf.logical_and, masks)
        frequent, occurrences = (tf.boolean_mask(each, kept) for each in (words, counts))
        return frequent, occurrences


def _thinned(words: Any, counts: Any, part: float, corpus_size: Any, seed: int | None) -> Tensor:
    """Leaves out frequent words at random, the more frequent the more of them."""
    if part < 0 or part > 1:
        raise ValueError(f"Invalid vocab_subsampling={part} - it should be within range [0, 1].")
    with tf.name_scope("subsample_vocab", values=[words, counts, part]):
        size, counts, share = (tf.cast(x, tf.float64) for x in (corpus_size, counts, part))
        # Mikolov et al., "Distributed representations of words and phrases", equation 5, as
        # word2vec computes it.
        kept = (tf.sqrt(counts / (share * size)) + 1.0) * (share * size / counts)
        drawn = tf.random_uniform(tf.shape(counts), minval=0, maxval=1, dtype=tf.float64, seed=seed)
        return tf.boolean_mask(words, tf.less_equal(drawn, kept))


@export("contrib.text.skip_gram_sample_with_text_vocab")
def skip_gram_sample_with_text_vocab(
    input_tensor: Any,
    vocab_freq_file: str,
    vocab_token_index: int = 0,
    vocab_token_dtype: Any = tf.string,
    vocab_freq_index: int = 1,
    vocab_freq_dtype: Any = tf.float64,
    vocab_delimiter: str = ",",
    vocab_min_count: Any = 0,
    vocab_subsampling: float | None = None,
    corpus_size: Any = None,
    min_skips: Any = 1,
    max_skips: Any = 5,
    start: Any = 0,
    limit: Any = -1,
    emit_self_as_target: Any = False,
    batch_size: int | None = None,
    batch_capacity: int | None = None,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """`skip_gram_sample` with a vocabulary in a file, a word and how often it occurs in each line.

    Args:
      input_tensor: words [n].
      vocab_freq_file: the file's name.
      vocab_token_index: the column of the words.
      vocab_token_dtype: of the words.
      vocab_freq_index: the column that says how often they occur.
      vocab_freq_dtype: of these numbers.
      vocab_delimiter: text between the columns.
      vocab_min_count: see `skip_gram_sample`.
      vocab_subsampling: see there.
      corpus_size: see there; not less than what the file's words are together, which is the
        default.
      min_skips: see there.
      max_skips: see there.
      start: see there.
      limit: see there.
      emit_self_as_target: see there.
      batch_size: see there.
      batch_capacity: see there.
      seed: see there.
      name: of the scope.

    Returns:
      Words, and the word near each of them; both [pairs].

    Raises:
      ValueError: for columns that are not there, or are the same, negative numbers, or a corpus
        that is too small.
    """
    columns = (vocab_token_index, vocab_freq_index)
    total, size = _counted(vocab_freq_file, columns, vocab_freq_dtype, vocab_delimiter)
    if not corpus_size:
        corpus_size = total
    elif total - corpus_size > 1e-6:
        raise ValueError(
            f"`corpus_size`={corpus_size} must be greater than or equal to the sum of all the "
            f"frequency counts ({total}) of `vocab_freq_file` ({vocab_freq_file})."
        )
    table = tf.contrib.lookup.HashTable(
        tf.contrib.lookup.TextFileInitializer(
            filename=vocab_freq_file, key_dtype=vocab_token_dtype, key_index=vocab_token_index,
            value_dtype=vocab_freq_dtype, value_index=vocab_freq_index, vocab_size=size,
            delimiter=vocab_delimiter,
        ),
        default_value=_NOT_FOUND,
    )  # fmt: skip
    return skip_gram_sample(
        input_tensor, min_skips, max_skips, start, limit, emit_self_as_target, table,
        vocab_min_count, vocab_subsampling, None if vocab_subsampling is None else corpus_size,
        batch_size, batch_capacity, seed, name,
    )  # fmt: skip


def _counted(path: str, columns: tuple[int, int], kind: Any, delimiter: str) -> tuple[float, int]:
    """Return the total count of a vocabulary's words, and their number."""
    token, count = columns
    if token < 0 or count < 0:
        raise ValueError(
            f"vocab_token_index={token} and vocab_freq_index={count} must both be >= 0."
        )
    if token == count:
        raise ValueError(
            f"vocab_token_index and vocab_freq_index should be different, but are both {token}."
        )
    total, size = 0.0, 0
    with tf.gfile.GFile(path, mode="r") as lines:
        for row in csv.reader(lines, delimiter=delimiter):
            if max(columns) >= len(row):
                raise ValueError(
                    f"Row in vocab file only has {len(row)} columns, so vocab_token_index={token} "
                    f"or vocab_freq_index={count} is out of bounds. Row content: {row}"
                )
            found = kind.as_numpy_dtype(row[count])
            if found < 0:
                raise ValueError(
                    f"Row in vocab file has negative frequency of {found}. Row content: {row}"
                )
            total += found
            size += 1
    return total, size
