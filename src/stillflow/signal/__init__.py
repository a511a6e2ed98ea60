"""tf.signal: spectra, frames, windows, mel scales; compositions over Fourier transforms."""
