"""String tensors, and strings of Python 2 and 3."""

from __future__ import annotations

from tests.golden.registry import Run, program, raised


@program
def strings(tf):
    words = tf.placeholder(tf.string, [None])
    numbers = tf.constant([1.5, -2.25])
    fetches = {
        "constant": tf.constant([["a", "bc"], ["", "d"]]),
        "join": tf.string_join([words, "x"], separator="-"),
        "as_string": tf.as_string(numbers),
        "precision": tf.as_string(numbers, precision=2, width=8, fill="0"),
        "ints": tf.as_string(tf.constant([7, -1])),
        "bools": tf.as_string([True, False]),
        "scientific": tf.as_string(numbers, scientific=True),
        "reduce_join": tf.reduce_join([["a", "b"], ["c", "d"]], 0),
        "reduce_all": tf.reduce_join(words, separator=" "),
        "reduce_both": tf.reduce_join([["a", "b"], ["c", "d"]], [0, 1], keep_dims=True),
        "to_number": tf.string_to_number(["3.5", "-1e2"]),
        "to_int": tf.string_to_number(["12"], tf.int32),
        "length": tf.strings.length(words),
        "length_utf8": tf.strings.length(["\u00e9a"], unit="UTF8_CHAR"),
        "substr": tf.substr(words, 1, 2),
        "upper": tf.strings.upper(words),
        "lower": tf.strings.lower(["ABC"]),
        "strip": tf.strings.strip(["  a "]),
        "replace": tf.regex_replace(words, "[aeiou]", "_"),
        "match": tf.strings.regex_full_match(words, "h.*"),
        "base64": tf.encode_base64(words),
        "decoded": tf.decode_base64(tf.encode_base64(words)),
        "hash": tf.string_to_hash_bucket_fast(words, 100),
        "hash_strong": tf.string_to_hash_bucket_strong(words, 100, [1, 2]),
        "hash_legacy": tf.string_to_hash_bucket(words, 100),
        "equal": tf.equal(words, "hello"),
        "format": tf.strings.format("tensor: {}", tf.constant([1, 2])),
        "split": tf.string_split(["a b", "c"]),
        "split_delimiter": tf.string_split(["a,b,,c"], ",", skip_empty=False),
        "split_v2": tf.strings.split(["a b", "c"]).values,
        "bytes": tf.decode_raw(tf.constant(["\x01\x02"]), tf.uint8),
        "python": tf.constant(b"\xff\x00a"),
    }
    return Run(fetches, {words: ["hello", "world"]})


@program
def rewrites_that_end_early(tf):
    words = tf.constant(["a1a1", "z"])
    return Run(
        {
            f"{rewrite} {everywhere}": tf.strings.regex_replace(words, "a(1)", rewrite, everywhere)
            for rewrite in ["x\\", "x\\5y", "a\\xb", "\\1\\9", "\\\\"]
            for everywhere in (True, False)
        }
    )


@program
def string_errors(tf):
    words = tf.placeholder(tf.string, [None])
    number = tf.string_to_number(words)
    part = tf.substr(words, 10, 1)
    pattern = tf.regex_replace(words, "(", "")
    often = tf.regex_replace(words, "a{2,1001}", "")
    junk = tf.io.decode_compressed(["no stream"], "ZLIB")

    def use(session):
        return {
            "number": raised(session.run, number, {words: ["abc"]}),
            "empty": raised(session.run, number, {words: ["", "1"]}),
            "substr": raised(session.run, part, {words: ["abc"]}),
            "often": raised(session.run, often, {words: ["abc"]}),
            "compressed": raised(session.run, junk),
            "pattern": raised(session.run, pattern, {words: ["abc"]}),
        }

    return Run(facts={"join": raised(tf.string_join, [["a", "b"], ["c"]])}, call=use)


@program
def characters_of_patterns(tf):
    """No class has bytes that are no text; some classes, and codes, only RE2 writes so."""
    some = tf.constant([b"a\xffb", b"\xff", b"\xc3\xa9", b"x\xc3y", b"1- ]"])
    many = tf.concat([some] * 5, 0)  # worth a pattern for all at once
    patterns = (
        ".", ".*", ".?b", "(?s).", "(?m)^.*$", "[^a]", "[^]a]+", "[]a]+", r"[^\]]", "[^[]", r"\W",
        r"\D", r"[\s\S]+", r"\S+", r"\PL", r"(.)\pL", "[[:^alpha:]]+", "[^[:^alpha:]]",
        "[[:^digit:]x]", "[:alp]", r"\x{e9}", r"[\x{e9}-\x{ff}]", r"a[^b]?b",
    )
    fetches = {}
    for pattern in patterns:
        for name, texts in (("some", some), ("many", many)):
            fetches[f"{pattern} {name}"] = tf.regex_replace(texts, pattern, "_")
            fetches[f"{pattern} {name} match"] = tf.strings.regex_full_match(texts, pattern)
    return Run(fetches=fetches)


@program
def compat_strings(tf):
    compat = tf.compat
    return Run(
        facts={
            "as_bytes": repr(compat.as_bytes("\u00e9")),
            "as_text": compat.as_text(b"\xc3\xa9"),
            "as_str": compat.as_str(b"abc"),
            "as_str_any": compat.as_str_any(3),
            "path": compat.path_to_str("a/b"),
            "bad": raised(compat.as_bytes, 3),
            "types": [isinstance(3, compat.integral_types), isinstance(3.0, compat.real_types)],
        }
    )
