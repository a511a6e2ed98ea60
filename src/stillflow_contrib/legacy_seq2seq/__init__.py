"""`tf.contrib.legacy_seq2seq`: models from sequences to sequences, unrolled over time."""
