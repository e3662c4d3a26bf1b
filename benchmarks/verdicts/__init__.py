"""How often every verdict of voxaudit is wrong where there is nothing to find, and how often it finds what there is."""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS"):
    # Before anything is imported that asks: as many processes as are wanted, one core each.
    os.environ.setdefault(_name, "1")
