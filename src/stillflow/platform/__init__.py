"""Program start: flags, main function, log, paths."""
