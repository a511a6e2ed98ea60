"""Golden programs, one module per family, in the folders of the packages they are about."""
