"""Vocabularies in files; what they compute is in the golden programs."""

from __future__ import annotations

import pickle
import pickletools
from pathlib import Path

import pytest

import stillflow as tf

TEXTS = ["a b", "b c d"]
MODULES = "tensorflow.contrib.learn.python.learn.preprocessing"


def fitted(**options):
    processor = tf.contrib.learn.preprocessing.VocabularyProcessor(2, **options)
    return processor.fit(TEXTS)


@pytest.mark.parametrize("options", [{}, {"min_frequency": 1}])
def test_a_vocabulary_that_is_restored_gives_the_same_rows(tmp_path: Path, options) -> None:
    path = str(tmp_path / "vocab")
    processor = fitted(**options)
    processor.save(path)
    restored = type(processor).restore(path)
    assert [list(row) for row in restored.transform(TEXTS)] == [
        list(row) for row in processor.transform(TEXTS)
    ]
    assert vars(restored.vocabulary_) == vars(processor.vocabulary_)
    assert restored.min_frequency == processor.min_frequency


def test_a_file_names_what_tensorflow_has(tmp_path: Path) -> None:
    fitted().save(str(tmp_path / "vocab"))
    found = pickletools.genops((tmp_path / "vocab").read_bytes())
    assert [arg for opcode, arg, _ in found if opcode.name == "GLOBAL"] == [
        f"{MODULES}.text VocabularyProcessor",
        f"{MODULES}.categorical_vocabulary CategoricalVocabulary",
        "collections defaultdict",
        "builtins int",
        f"{MODULES}.text tokenizer",
    ]


def test_files_of_tensorflow_are_read(tmp_path: Path) -> None:
    # What TensorFlow 1.15.5 wrote under Python 3.7.
    content = (
        b"\x80\x03c" + MODULES.encode() + b".text\nVocabularyProcessor\n)\x81}("
        b"X\x13\x00\x00\x00max_document_lengthK\x02X\r\x00\x00\x00min_frequencyK\x00"
        b"X\x0b\x00\x00\x00vocabulary_c"
        + MODULES.encode()
        + b".categorical_vocabulary\nCategoricalVocabulary\n)\x81}("
        b"X\x08\x00\x00\x00_mapping}(X\x05\x00\x00\x00<UNK>K\x00X\x01\x00\x00\x00aK\x01u"
        b"X\x05\x00\x00\x00_freqccollections\ndefaultdict\ncbuiltins\nint\n\x85R"
        b"X\x07\x00\x00\x00_freeze\x88ub"
        b"X\n\x00\x00\x00_tokenizerc" + MODULES.encode() + b".text\ntokenizer\nub."
    )
    (tmp_path / "vocab").write_bytes(content)
    processor = tf.contrib.learn.preprocessing.VocabularyProcessor.restore(str(tmp_path / "vocab"))
    assert [list(row) for row in processor.transform(["a b a"])] == [[1, 0]]


def test_tokens_of_ones_own_are_not_saved(tmp_path: Path) -> None:
    processor = fitted(tokenizer_fn=lambda texts: map(str.split, texts))
    with pytest.raises(pickle.PicklingError, match="cannot be saved in a vocabulary"):
        processor.save(str(tmp_path / "vocab"))


def test_files_of_anything_else_are_refused(tmp_path: Path) -> None:
    (tmp_path / "vocab").write_bytes(pickle.dumps(print))
    with pytest.raises(pickle.UnpicklingError, match=r"print is no part of a vocabulary"):
        tf.contrib.learn.preprocessing.VocabularyProcessor.restore(str(tmp_path / "vocab"))


def test_the_module_programs_import_has_them() -> None:
    tf.install(revive=False)
    try:
        from tensorflow.contrib.learn.python.learn.preprocessing import text

        assert text.VocabularyProcessor is tf.contrib.learn.preprocessing.VocabularyProcessor
        assert text.CategoricalVocabulary is tf.contrib.learn.preprocessing.CategoricalVocabulary
    finally:
        tf.uninstall()
