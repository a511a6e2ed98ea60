"""Programs whose graphs and values were recorded under TensorFlow 1.15.5, and their replay."""
