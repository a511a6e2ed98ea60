"""Sessions: fetches, feeds, handles, options, and partial runs."""
