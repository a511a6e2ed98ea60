"""Sources over PyTorch of operations that few exported models have; `every` imports them all."""
