"""`tf.contrib.specs`: networks written as short expressions, `net = Cr(64, [5, 5]) | Fs(10)`."""
