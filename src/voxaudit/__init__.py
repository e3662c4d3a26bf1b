"""voxaudit: audit a speech recogniser. Where it breaks, for whom it breaks, and how sure you can be."""

__version__ = "0.1.0"
