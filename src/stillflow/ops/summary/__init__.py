"""The ops that turn tensors into serialized `tf.summary.Summary` messages."""
