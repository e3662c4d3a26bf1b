"""Readers of corpora that people download, each from the layout it is published in."""
