"""`tf.contrib.text`: words with the words around them."""
