"""Linear algebra: diagonals and bands, decompositions, solvers."""
