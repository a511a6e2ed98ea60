"""Golden programs, one module per family. Each builds what a TF1 user would write."""
