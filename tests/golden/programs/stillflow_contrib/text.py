"""Words with the words around them."""

from __future__ import annotations

import os
import tempfile

import numpy as np
from tests.golden.registry import Run, internal_module, program, raised

WORDS = ["the", "quick", "brown", "fox", "jumps", "over", "the", "lazy", "dog"]
COUNTS = {"the": 30, "quick": 10, "brown": 3, "fox": 20, "jumps": 1, "over": 60}


def _text(tf):
    tf.set_random_seed(11)
    return internal_module(tf, "contrib.text", "contrib.text")


def _named(pairs):
    return {"tokens": pairs[0], "labels": pairs[1]}


@program
def ranges(tf):
    sample = _text(tf).skip_gram_sample
    words = tf.constant(WORDS)
    return Run({
        "two": _named(sample(words, 2, 2)),
        "drawn": _named(sample(words, seed=3)),
        "power_of_two": _named(sample(words, 0, 3)),
        "part": _named(sample(words, 1, 2, start=2, limit=4, emit_self_as_target=True)),
        "beyond": _named(sample(words, 1, 2, start=12)),
        "none": _named(sample(words, 0, 0)),
        "fed": _named(sample(words, tf.placeholder_with_default(1, []), tf.constant(4),
                             emit_self_as_target=tf.placeholder_with_default(True, None))),
    }, steps=3)


@program
def types(tf):
    sample = _text(tf).skip_gram_sample
    return Run({
        name: _named(sample(np.arange(7).astype(name), 1, 3, seed=5))
        for name in ("int64", "int32", "int16")
    })


def _table(tf, default_value=-1, kind=np.int64):
    lookup = tf.contrib.lookup
    keys, values = zip(*sorted(COUNTS.items()))
    return lookup.HashTable(lookup.KeyValueTensorInitializer(
        tf.constant(keys), tf.constant(np.array(values, kind))), default_value)


@program
def vocabulary(tf):
    text = _text(tf)
    table = _table(tf)
    words = tf.constant(WORDS)
    return Run({
        "known": _named(text.skip_gram_sample(words, 1, 1, vocab_freq_table=table)),
        "frequent": _named(text.skip_gram_sample(
            words, 1, 2, vocab_freq_table=table, vocab_min_count=3, seed=7)),
        "thinned": _named(text.skip_gram_sample(
            words, 1, 2, vocab_freq_table=table, vocab_min_count=2, vocab_subsampling=0.05,
            corpus_size=124, seed=9)),
    }, setup=[tf.tables_initializer()], steps=2)


@program
def batches(tf):
    text = _text(tf)
    tokens, labels = text.skip_gram_sample(tf.constant(WORDS[:4]), 1, 1, batch_size=4)
    small = text.skip_gram_sample(tf.constant(WORDS[:4]), 1, 1, batch_size=2, batch_capacity=7)

    def call(session):
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        found = session.run([tokens, labels])
        coord.request_stop()
        coord.join(threads, stop_grace_period_secs=2, ignore_live_threads=True)
        return {"tokens": found[0], "labels": found[1]}

    return Run(call=call, facts={"static": [str(x.shape) for x in (tokens, labels, *small)]})


def _file(lines):
    path = os.path.join(tempfile.gettempdir(), "skip_grams_vocabulary.txt")
    with open(path, "w") as file:
        file.write("".join(line + "\n" for line in lines))
    return path


@program
def vocabulary_in_a_file(tf):
    text = _text(tf)
    path = "tests/golden/files/counts.txt"
    words = tf.constant(WORDS)
    settings = {"vocab_freq_index": 2, "vocab_delimiter": ";"}
    sample = text.skip_gram_sample_with_text_vocab
    return Run({
        "known": _named(sample(words, path, min_skips=1, max_skips=1, **settings)),
        "thinned": _named(sample(words, path, vocab_freq_dtype=tf.int64, vocab_min_count=10,
                                 vocab_subsampling=0.1, seed=2, name="thinned", **settings)),
        "larger": _named(sample(words, path, vocab_subsampling=0.1, corpus_size=1000, seed=2,
                                emit_self_as_target=True, start=1, limit=4, **settings)),
    }, setup=[tf.tables_initializer()])


@program
def refused(tf):
    text = _text(tf)
    words, table = tf.constant(WORDS), _table(tf)

    def sample(**settings):
        return raised(text.skip_gram_sample, words, **settings)

    def from_file(*lines, **settings):
        return raised(text.skip_gram_sample_with_text_vocab, words, _file(lines), **settings)

    return Run(facts={
        "no_table": sample(vocab_min_count=3),
        "no_size": sample(vocab_freq_table=table, vocab_subsampling=0.1),
        "no_share": sample(vocab_freq_table=table, corpus_size=3),
        "share": sample(vocab_freq_table=table, corpus_size=3, vocab_subsampling=1.5),
        "rank": raised(text.skip_gram_sample, tf.constant([WORDS])),
        "negative": from_file("a,-1"),
        "columns": from_file("a,1", "b"),
        "same": from_file("a,1", vocab_freq_index=0),
        "index": from_file("a,1", vocab_token_index=-1),
        "number": from_file("a,b"),
    })


def _fails(name, **settings):
    def fails(tf):
        return Run(_named(_text(tf).skip_gram_sample(tf.constant(WORDS), **settings)), fails=True)

    fails.__name__, fails.__module__ = name, __name__
    return program(fails)


negative = _fails("negative", min_skips=-1)
upside_down = _fails("upside_down", min_skips=3, max_skips=2)
