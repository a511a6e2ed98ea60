"""Run metadata and timelines of traced runs."""
