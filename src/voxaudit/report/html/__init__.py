"""The report as one HTML file that needs nothing else: no server, no network, and no script to be read."""

from voxaudit.report.html.page import render_html

__all__ = ["render_html"]
