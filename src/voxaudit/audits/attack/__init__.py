"""Attacks on recognizers: how little noise, chosen by an adversary, is enough to make them fail."""
