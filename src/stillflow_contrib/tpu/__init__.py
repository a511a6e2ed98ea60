"""Parts of `tf.contrib.tpu` that few programs use: feeds, topologies, loops on a device."""
