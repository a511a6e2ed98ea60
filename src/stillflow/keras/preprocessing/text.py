"""Text as numbers: `keras_preprocessing`, which TensorFlow 1.15 hands on as well."""

from __future__ import annotations

from keras_preprocessing.text import (
    Tokenizer,
    hashing_trick,
    one_hot,
    text_to_word_sequence,
    tokenizer_from_json,
)

from stillflow._export import export

export("keras.preprocessing.text.hashing_trick")(hashing_trick)
export("keras.preprocessing.text.one_hot")(one_hot)
export("keras.preprocessing.text.text_to_word_sequence")(text_to_word_sequence)
export("keras.preprocessing.text.Tokenizer")(Tokenizer)
export("keras.preprocessing.text.tokenizer_from_json")(tokenizer_from_json)
