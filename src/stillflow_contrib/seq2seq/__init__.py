"""`tf.contrib.seq2seq`: attention, decoders and losses of models from sequences to sequences."""
