"""tf.strings: compositions over the ops on strings, whose results are ragged."""
