"""Many strings at once, which loops in C take, give what one by one gives."""

from __future__ import annotations

import random

import numpy as np
import pytest

import stillflow as tf
from stillflow import errors, native
from stillflow.nest.structure import flatten

RANDOM = random.Random(0)
WORDS = np.array(
    [bytes(RANDOM.choices(b"ab ,;\t\n0", k=RANDOM.randrange(12))) for _ in range(200)], object
)
TABLE = WORDS.reshape(10, 20)
SIZES = [len(word) for word in WORDS]
REALS = np.array([repr(RANDOM.uniform(-1e6, 1e6)).encode() for _ in range(50)], object)
WHOLE = np.array([b"%d" % RANDOM.randrange(-(2**31), 2**31) for _ in range(50)], object)
ODD = np.array([b"1e3", b" 2", b"inf", b"-0.", b".5", b"+1E-300", b"9007199254740993"] * 3, object)
LONG = np.array([b"0.12345678901234567", b"-3.14159265358979323846e-7", b"1e22", b"12345.e-400",
                 b"\v7\f", b" ", b"0x1F", b"-NaN", b"1" * 40] * 2, object)  # fmt: skip
LARGE = np.array([b"3.4e38", b"4e38", b"-1e308", b"2147483648"] * 3, object)
WRONG = np.array([b"1", b"99999999999999999999", b"x"] * 5, object)


# Beginnings of characters, halves of pairs, too long forms, too large numbers.
PIECES = [b"a", b"\x01", b"\x7f", b"\xc3\xa9", b"\xc3", b"\xa9", b"\xe2\x82\xac", b"\xe2\x82",
          b"\xe0\x80",
          b"\xed\xa0\x80", b"\xf0\x9f\x98\x8a", b"\xf0\x9f\x98", b"\xf0\x80", b"\xf4\x90", b"\xff",
          b"\xc0\x80", b"\xf5", b"\xef\xbb\xbf"]  # fmt: skip
TEXTS = np.array(
    [b"".join(RANDOM.choices(PIECES, k=RANDOM.randrange(7))) for _ in range(300)], object
)


def vocabulary():
    keys = list(dict.fromkeys(WORDS.tolist()))[:50]
    return tf.contrib.lookup.index_table_from_tensor(tf.constant(keys), num_oov_buckets=3)


CASES = {
    **{
        f"split {by!r} {skip}": lambda by=by, skip=skip: tf.string_split(WORDS, by, skip)
        for by in ("", " ", ",;", "  ") for skip in (True, False)
    },
    **{
        f"split_v2 {by!r}": lambda by=by: tf.strings.split(WORDS, by, result_type="SparseTensor")
        for by in (None, " ", ", ")
    },
    **{
        f"substr {pos} {size}": lambda pos=pos, size=size: tf.strings.substr(WORDS, pos, size)
        for pos, size in ((0, 3), (-1, 2), (0, -1), (20, 1))
    },
    "substr middles": lambda: tf.strings.substr(WORDS, [size // 2 for size in SIZES], [2] * 200),
    "substr from ends": lambda: tf.strings.substr(WORDS, [-size for size in SIZES], [2] * 200),
    "substr behind ends": lambda: tf.strings.substr(WORDS, [n + 1 for n in SIZES], [2] * 200),
    "substr of rows": lambda: tf.strings.substr(TABLE, 0, 3),
    "join": lambda: tf.string_join([WORDS, "x", WORDS], "-"),
    "join rows": lambda: tf.string_join([TABLE, TABLE]),
    "reduce 1": lambda: tf.reduce_join(TABLE, 1, separator="|"),
    "reduce 0": lambda: tf.reduce_join(TABLE, 0),
    "reduce both": lambda: tf.reduce_join(TABLE, [0, 1]),
    "reduce none": lambda: tf.reduce_join(TABLE, []),
    "reduce empty rows": lambda: tf.reduce_join(TABLE[:, :0], 1, separator=","),
    "unique": lambda: list(tf.unique(WORDS)),
    "unique_with_counts": lambda: list(tf.unique_with_counts(WORDS)),
    "table": lambda: vocabulary().lookup(tf.constant(TABLE)),
    "length": lambda: tf.strings.length(TABLE),
    "hash fast": lambda: tf.string_to_hash_bucket_fast(TABLE, 99),
    "hash": lambda: tf.string_to_hash_bucket(TABLE, 99),
    "hash strong": lambda: tf.string_to_hash_bucket_strong(TABLE, 99, [3, 4]),
    "csv": lambda: tf.decode_csv([b"1,abc,2.5", b"-3,d,.5"] * 10, [[0], ["d"], [0.0]]),
    "Base64": lambda: tf.encode_base64(TABLE),
    "Base64 filled up": lambda: tf.encode_base64(TABLE, pad=True),
    "from Base64": lambda: tf.decode_base64(tf.encode_base64(TABLE)),
    "from Base64 filled up": lambda: tf.decode_base64(tf.encode_base64(TABLE, pad=True)),
    **{
        f"from Base64 {text!r}": lambda text=text: tf.decode_base64([text] * 20)
        for text in (b"a", b"ab=c", b"ab c", b"abc=d===", b"====", b"ab==", b"a===", b"abcd=")
    },
    **{
        f"characters {errors} {control} {code}":
        lambda errors=errors, control=control, code=code: list(
            tf.raw_ops.UnicodeDecodeWithOffsets(
                input=TEXTS, input_encoding="UTF-8", errors=errors, replacement_char=code,
                replace_control_characters=control))
        for errors in ("replace", "ignore", "strict")
        for control, code in ((False, 65533), (True, 33))
    },
    **{
        f"{encoding} of {name}": lambda to=encoding, codes=codes: tf.raw_ops.UnicodeEncode(
            input_values=codes, input_splits=[0, 2, 1, *range(3, 14)], output_encoding=to)
        for encoding in ("UTF-8", "UTF-16-BE", "UTF-32-BE")
        for name, codes in (
            ("characters", [65, 0, 0x7F, 0x80, 0x7FF, 0x800, 0xFFFF, 0x10000, 0x10FFFF, *[9] * 5]),
            ("halves of pairs", [0xD83D, 0xDE00, 65, 0xD800, *[9] * 10]),
            ("what is none", [-1, 0x110000, 65, *[9] * 11]),
        )
    },
    **{
        f"{encoding} {errors} {control} {code}":
        lambda to=encoding, errors=errors, control=control, code=code: tf.strings.unicode_transcode(
            TEXTS, "utf8", to, errors, code, control)
        for encoding in ("UTF-8", "UTF-16-BE", "UTF-32-BE")
        for errors in ("replace", "ignore", "strict")
        for control, code in ((False, 65533), (True, 0x1F600), (True, 0xD800))
    },
    "strict and well-formed": lambda: tf.strings.unicode_transcode(
        [text.encode() for text in ("a", "\u20ac", "") * 9], "utf8", "UTF-16-BE", "strict"),
    **{
        f"{name} as {kind.name}": lambda x=x, kind=kind: tf.string_to_number(x, kind)
        for name, x in (("reals", REALS), ("whole", WHOLE), ("odd", ODD), ("large", LARGE),
                        ("long", LONG), ("wrong", WRONG))
        for kind in (tf.float32, tf.float64, tf.int32, tf.int64)
    },
}  # fmt: skip


def answer(build):
    with tf.Graph().as_default(), tf.Session() as session:
        outputs = flatten(build())
        session.run(tf.tables_initializer())
        try:
            found = flatten(session.run(outputs))
        except errors.InvalidArgumentError as error:
            return str(error.message)
    return [(np.shape(x), np.asarray(x).dtype, np.asarray(x).tolist()) for x in found]


@pytest.mark.parametrize("name", CASES)
def test_many_strings_are_taken_as_each(name, monkeypatch):
    if native.library() is None:
        pytest.skip("the loops in C were not built")
    at_once = answer(CASES[name])
    monkeypatch.setattr(native, "library", lambda: None)
    assert repr(answer(CASES[name])) == repr(at_once)


def test_a_table_answers_few_and_many_alike(either_way):
    keys = np.array([b"%d" % n for n in range(100)], object)
    with tf.Graph().as_default(), tf.Session() as session:
        table = tf.contrib.lookup.HashTable(
            tf.contrib.lookup.KeyValueTensorInitializer(keys, np.arange(100) / 2.0), -1.0
        )
        asked = tf.placeholder(tf.string, [None])
        found = table.lookup(asked)
        session.run(table.init)
        many = session.run(found, {asked: [b"7", b"no"] * 50})
        assert many.tolist() == [3.5, -1.0] * 50
        assert session.run(found, {asked: [b"99", b""]}).tolist() == [49.5, -1.0]
