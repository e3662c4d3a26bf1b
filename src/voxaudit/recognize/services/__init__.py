"""Recognizers that are services over HTTP: one file per vendor, and the layer that makes calling them safe."""
