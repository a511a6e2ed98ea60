"""`tf.contrib.input_pipeline`: the names of files one after the other."""
