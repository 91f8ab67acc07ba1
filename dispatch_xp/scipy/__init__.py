"""uarray backends, one object per domain: :mod:`~dispatch_xp.scipy.fft` and ``linalg``."""
