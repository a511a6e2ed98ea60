"""State space models of series: a hidden state moves linearly, and is observed with noise."""
