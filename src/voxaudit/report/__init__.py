"""Reports: findings become pages and files that people read."""
