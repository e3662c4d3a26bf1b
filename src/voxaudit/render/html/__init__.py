"""The report as one HTML file that needs nothing else: no server, no network, no script; and answers in notebooks."""

from voxaudit.render.html.page import answer_html, render_html

__all__ = ["answer_html", "render_html"]
