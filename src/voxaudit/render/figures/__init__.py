"""Figures: a drawing, its numbers in a table that folds away, and what it shows in words; and as files of their own."""

from voxaudit.render.figures.heatmap import heat_limits
from voxaudit.render.figures.plot import Plot, figure_svg, plot

__all__ = ["Plot", "figure_svg", "heat_limits", "plot"]
