"""Statistics on counts, clustered by speaker."""
