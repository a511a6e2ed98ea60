"""`tf.contrib.losses`: losses with predictions before labels, as programs of 2016 call them."""
