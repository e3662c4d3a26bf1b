"""P-values as people read them: the same in every table and sentence."""

from __future__ import annotations


def p_cell(p: float | None) -> str:
    """Return a p-value as tables have it: `0.012`, `0.0004`, `<0.0001`, or a dash."""
    if p is None:
        return "-"
    return "<0.0001" if p < 0.0001 else f"{p:.4f}" if p < 0.001 else f"{p:.3f}"


def p_value(p: float | None) -> str:
    """Return a p-value as sentences have it: `p = 0.012`, `p < 0.0001`, or a dash."""
    text = p_cell(p)
    return text if p is None else f"p < {text[1:]}" if text.startswith("<") else f"p = {text}"
