"""Op cards, one module per family."""
