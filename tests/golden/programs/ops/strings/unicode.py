"""Unicode text, and strings split into ragged rows."""

from __future__ import annotations

from tests.golden.programs.ragged import parts
from tests.golden.registry import Run, program, raised

TEXTS = ["G\u00f6\u00f6dnight".encode(), "\U0001f60a".encode(), b"", b"a\xffb\x01"]


@program
def decoded(tf):
    texts = tf.constant(TEXTS)
    decode, with_offsets = tf.strings.unicode_decode, tf.strings.unicode_decode_with_offsets
    codes, starts = with_offsets(texts, "UTF-8")
    grid = tf.reshape(texts, [2, 2])
    return Run(parts(
        codes=codes, starts=starts, one=decode("h\\xc3", "UTF-8"), grid=decode(grid, "UTF-8"),
        ignored=decode(texts, "UTF-8", errors="ignore", replace_control_characters=True),
        replaced=decode(texts, "UTF-8", replacement_char=63, replace_control_characters=True),
        latin=decode(texts, "ISO-8859-1"), ragged=decode(tf.ragged.constant([["a"], []]), "UTF-8"),
    ))


@program
def refused(tf):
    return Run(parts(codes=tf.strings.unicode_decode(TEXTS, "UTF-8", errors="strict")), fails=True)


@program
def an_unknown_encoding(tf):
    return Run(parts(codes=tf.strings.unicode_decode(TEXTS, "klingon")), fails=True)


@program
def encoded(tf):
    encode = tf.strings.unicode_encode
    codes = tf.ragged.constant([[72, 0xF6, 0x1F60A], [], [0xD83D, 0xDE0A, 0xD800, 65]])
    dense = tf.constant([[[72, 105], [111, 107]]])
    return Run(parts(
        utf8=encode(codes, "UTF-8"), utf16=encode(codes, "UTF-16-BE"),
        utf32=encode(codes, "UTF-32-BE"), one=encode([72, 105], "UTF-8"),
        dense=encode(dense, "UTF-8"),
        deep=encode(tf.ragged.constant([[[72], []], [[105]]]), "UTF-8"),
        replaced=encode([65, -1, 0x110000], "UTF-8", replacement_char=63),
        ignored=encode([65, -1, 0x110000], "UTF-8", errors="ignore"),
    ), facts={"rank": raised(encode, tf.constant(1), "UTF-8")})


@program
def no_code_point(tf):
    return Run({"text": tf.strings.unicode_encode([[65, -1]], "UTF-8", errors="strict")},
               fails=True)


@program
def transcoded(tf):
    transcode = tf.strings.unicode_transcode
    wide = tf.constant(["\u4eca\u65e5".encode("utf-16-be"), b"\xff\xfe*\x00", b"\xd8\x00\x00A"])
    return Run({
        "utf16": transcode(TEXTS, "UTF-8", "UTF-16-BE"),
        "utf8": transcode(wide, "UTF-16-BE", "UTF-8"),
        "marked": transcode(b"\xff\xfe*\x00", "UTF-16", "UTF-8"),
        "unmarked": transcode(b"\x00*", "utf16", "UTF-8"),
        "windows": transcode([b"\x80\x81\xe9"], "windows-1252", "UTF-8"),
        "japanese": transcode([b"\x93\xfa\x96{"], "Shift_JIS", "UTF-8"),
        "ignored": transcode(TEXTS, "UTF-8", "UTF-8", errors="ignore"),
        "controls": transcode(TEXTS, "UTF-8", "UTF-32-BE", replacement_char=63,
                              replace_control_characters=True),
    })


@program
def scripts(tf):
    codes = [65, 0x3B1, 0x416, 0x5D0, 0x4ECA, 0x3042, 0xE01, 0x1F60A, 0x300, 0x110000, -1, 48]
    return Run({"script": tf.strings.unicode_script(tf.constant(codes))})


@program
def split_characters(tf):
    texts, grid = tf.placeholder(tf.string, [None]), tf.placeholder(tf.string, [2, 2])
    chars, starts = tf.strings.unicode_split_with_offsets(texts, "UTF-8")
    return Run(parts(
        chars=chars, starts=starts, one=tf.strings.unicode_split(texts[0], "UTF-8"),
        characters=tf.strings.unicode_split(grid, "UTF-8", errors="ignore"),
        bytes=tf.strings.bytes_split(texts), of_one=tf.strings.bytes_split(texts[0]),
        grid=tf.strings.bytes_split(grid),
    ), {texts: TEXTS[:3], grid: [TEXTS[:2], TEXTS[2:]]})


@program
def split_words(tf):
    split, lines = tf.compat.v2.strings.split, tf.placeholder(tf.string, [None])
    grid = tf.placeholder(tf.string, [2, 1])
    return Run(dict(parts(
        words=split(lines), one=split(lines[0], "b"), most=split(lines, " ", maxsplit=1),
        grid=split(grid), ragged=split(
            tf.RaggedTensor.from_row_splits(lines, [0, 1, 3])),
        old_ragged=tf.strings.split(lines, result_type="RaggedTensor"),
        by_character=tf.string_split(lines, result_type="RaggedTensor"),
    ), sparse=tf.strings.split(lines), sparse_grid=tf.strings.split(grid),
        old=tf.string_split(lines, " ", skip_empty=False),
    ), {lines: ["a b  c", "", "d"], grid: [["a b"], ["c"]]}, facts={
        "type": raised(tf.string_split, lines, result_type="Dense"),
    })


@program
def ngrams(tf):
    words, make = tf.ragged.constant([["a", "b", "c"], ["d"], []]), tf.strings.ngrams
    return Run(parts(
        pairs=make(words, 2), several=make(words, [1, 3], separator="|"),
        padded=make(words, 2, pad_values=("<", ">")), wide=make(words, 3, pad_values="_",
                                                                padding_width=1),
        short=make(words, 2, preserve_short_sequences=True), vector=make(["a", "b", "c"], 2),
        grid=make([["a", "b", "c"], ["d", "e", "f"]], 2),
        deep=make(tf.ragged.constant([[["a", "b"]], []]), 2),
    ), facts={
        "width": raised(make, words, 0), "pad": raised(make, words, 2, pad_values=1),
        "padding": raised(make, words, 2, padding_width=1),
    })


@program
def joined_strings(tf):
    words = tf.ragged.constant([["a", "b"], [], ["c", "d", "e"]])
    return Run(parts(
        rows=tf.strings.reduce_join(words, axis=1, separator="-"),
        columns=tf.strings.reduce_join(words, axis=0),
        upper=tf.ragged.map_flat_values(tf.strings.upper, words),
        numbers=tf.as_string(tf.ragged.constant([[1, 2], [3]])),
        codes=tf.encode_base64(words), matches=tf.strings.regex_full_match(words, "[a-c]"),
    ))
