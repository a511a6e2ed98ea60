"""State space models of series: what is hidden moves on linearly, and is seen with noise."""
