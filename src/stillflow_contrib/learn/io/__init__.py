"""The input of `tf.contrib.learn`: files through queues, arrays, and data frames."""
