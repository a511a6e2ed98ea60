"""Linear models that stochastic dual coordinate ascent trains."""
