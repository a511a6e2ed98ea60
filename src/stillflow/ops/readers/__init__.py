"""Readers: what takes names of files from a queue and gives their records."""
