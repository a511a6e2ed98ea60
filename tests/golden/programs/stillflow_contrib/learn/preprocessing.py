"""Texts as numbers by tf.contrib.learn.preprocessing."""

from __future__ import annotations

from tests.golden.registry import Run, program, raised

TEXTS = [
    "The cat sat", "the cat's HTTPServer ran-out", "", "a cat sat on the mat",
    "Caf\u00e9 \u00fcber",
]  # fmt: skip


def _rows(rows):
    return [row.tolist() for row in rows]


@program
def vocabulary(tf):
    preprocessing = tf.contrib.learn.preprocessing
    processor = preprocessing.VocabularyProcessor(4)
    fitted = _rows(processor.fit_transform(TEXTS))
    vocabulary = processor.vocabulary_
    facts = {
        "fitted": fitted,
        "other": _rows(processor.transform(["on the dog", "mat " * 9])),
        "type": str(next(processor.transform(["on"])).dtype),
        "size": len(vocabulary),
        "reverse": list(processor.reverse([[1, 2, 0], [5]])),
        "tokens": [" ".join(tokens) for tokens in preprocessing.tokenizer(TEXTS)],
        "frozen": [vocabulary.get("dog"), vocabulary.get("cat")],
    }
    vocabulary.freeze(False)
    facts["thawed"] = [vocabulary.get("dog"), vocabulary.get("bird"), len(vocabulary)]
    return Run(facts=facts)


@program
def trimmed_vocabulary(tf):
    preprocessing = tf.contrib.learn.preprocessing
    processor = preprocessing.VocabularyProcessor(5, min_frequency=1)
    facts = {"rows": _rows(processor.fit_transform(TEXTS)), "size": len(processor.vocabulary_)}
    both = preprocessing.CategoricalVocabulary(unknown_token="?")
    for word, count in [("b", 5), ("a", 5), ("c", 9), ("d", 2), ("?", 4)]:
        both.add(word, count)
    both.trim(2, 9)
    facts["kept"] = [both.reverse(number) for number in range(len(both))]
    facts["numbers"] = [both.get(word) for word in "abc"]
    one_way = preprocessing.CategoricalVocabulary(support_reverse=False)
    one_way.add(3)
    facts["one_way"] = raised(one_way.reverse, 1)
    return Run(facts=facts)


@program
def own_tokens(tf):
    preprocessing = tf.contrib.learn.preprocessing
    vocabulary = preprocessing.CategoricalVocabulary()
    vocabulary.add("x")

    def letters(texts):
        return (list(text) for text in texts)

    processor = preprocessing.VocabularyProcessor(3, 0, vocabulary, letters)
    facts = {"letters": _rows(processor.fit(["yx"]).transform(["xyzx", "z"]))}
    return Run(facts=facts)


@program
def texts_as_bytes(tf):
    processor = tf.contrib.learn.preprocessing.ByteProcessor(6)
    rows = list(processor.fit_transform(["abc", b"\x00\xff", "Caf\u00e9s and more", ""]))
    texts = list(processor.reverse(rows))
    return Run(facts={"rows": _rows(rows), "type": str(rows[0].dtype), "texts": texts})
