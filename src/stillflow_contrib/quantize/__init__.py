"""`tf.contrib.quantize`: graphs rewritten so that training knows of the rounding to come."""
