"""Objects that own variables, saved by the way that leads from one to the other."""
