"""How often every verdict of voxaudit is wrong where there is nothing to find, and how often it finds what there is."""
