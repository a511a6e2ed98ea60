"""`tf.contrib.batching`: runs that go on at the same time, computed together."""
