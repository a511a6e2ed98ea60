"""`tf.contrib.optimizer_v2`: optimizers whose hyperparameters and slots each graph has its own."""
