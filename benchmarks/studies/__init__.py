"""Simulations behind tables of the pages on methods: whether a method is right, not how fast it is."""
