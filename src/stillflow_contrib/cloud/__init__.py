"""`tf.contrib.cloud`: Google's storage, of which programs say how it is to be used."""
