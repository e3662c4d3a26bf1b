"""Audits: tables in, findings out."""
