"""Figures as a table that reads well in a terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from benchmarks.figure import Figure

HEADS = ("measure", "ours", "against", "ratio", "min – max", "bound", "verdict")


def table(figures: Sequence[Figure]) -> str:
    """One row a figure."""
    rows = [HEADS, *map(cells, figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADS))]
    head, *body = (line(row, widths) for row in rows)
    rule = line(["-" * width for width in widths], widths)
    return "\n".join((head, rule, *body))


def cells(figure: Figure) -> tuple[str, ...]:
    return (
        figure.name,
        f"{number(median(figure.ours))} {figure.unit}",
        f"{number(median(figure.against))} {figure.unit}",
        number(figure.ratio),
        f"{number(min(figure.ratios))} – {number(max(figure.ratios))}",
        str(figure.bound or ""),
        figure.verdict,
    )


def line(row: Sequence[str], widths: Sequence[int]) -> str:
    return "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"


def number(value: float) -> str:
    """Three digits, or all before the point."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"
