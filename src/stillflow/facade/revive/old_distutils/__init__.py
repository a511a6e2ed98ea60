"""The parts of ``distutils`` that programs, not installers, use."""
