"""Random operations, drawing the numbers TF 1.15 draws from the same seeds."""
