"""`tf.contrib.receptive_field`: which part of an image an output of a network sees."""
