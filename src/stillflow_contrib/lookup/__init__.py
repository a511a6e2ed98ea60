"""`tf.contrib.lookup`: lookup tables under older names."""
