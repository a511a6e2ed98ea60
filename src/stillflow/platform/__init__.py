"""What a program says before it says anything about graphs: flags, main function, log, paths."""
