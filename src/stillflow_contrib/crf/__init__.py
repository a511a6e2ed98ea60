"""`tf.contrib.crf`: conditional random fields over sequences."""
