"""Native charts: titles, units and explicit colours, so that Excel and LibreOffice draw the same picture."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from openpyxl.chart import BarChart, LineChart, Reference, ScatterChart
from openpyxl.chart import Series as ChartSeries
from openpyxl.chart.layout import Layout, ManualLayout
from openpyxl.chart.legend import LegendEntry
from openpyxl.chart.shapes import GraphicalProperties
from openpyxl.chart.text import RichText
from openpyxl.drawing.line import LineProperties
from openpyxl.drawing.text import CharacterProperties, Paragraph, ParagraphProperties

from reports.render.excel_style import INK, MUTED, RULE
from reports.render.live import Anchor
from reports.render.sheet import Chart, Series

Cells = Callable[[Anchor, Anchor], Reference]
"""The cells from one name to another."""


def draw(chart: Chart, cells: Cells) -> Any:
    """A chart whose cells are found by name."""
    drawn: Any = {"lines": LineChart, "points": ScatterChart}.get(chart.form, BarChart)()
    drawn.title, drawn.width = chart.title, chart.width_cm
    drawn.title.tx.rich.p[0].pPr = ParagraphProperties(defRPr=CharacterProperties(sz=1200, b=True, solidFill=INK))
    drawn.title.overlay = False
    drawn.x_axis.title, drawn.y_axis.title = chart.x_title, chart.y_title
    drawn.legend.position = "t"
    for axis in (drawn.x_axis, drawn.y_axis):
        axis.delete = False
        axis.txPr = RichText(
            p=[Paragraph(pPr=ParagraphProperties(defRPr=CharacterProperties(sz=900, solidFill=MUTED)), endParaRPr=None)]
        )
        axis.title.tx.rich.p[0].pPr = ParagraphProperties(
            defRPr=CharacterProperties(sz=900, b=False, solidFill=MUTED)
        )
        axis.graphicalProperties = GraphicalProperties(ln=LineProperties(solidFill=RULE))
    drawn.y_axis.majorGridlines.spPr = GraphicalProperties(ln=LineProperties(solidFill="E3E8ED"))
    drawn.y_axis.number_format, drawn.y_axis.numFmt.sourceLinked = "#,##0;#,##0", False
    if chart.form == "points":
        drawn.x_axis.number_format, drawn.x_axis.numFmt.sourceLinked = "#,##0", False
        drawn.x_axis.majorGridlines, drawn.x_axis.scaling.min, drawn.style = None, 0, None
    if chart.value_format:
        drawn.y_axis.number_format = chart.value_format
    if chart.percent:
        drawn.y_axis.number_format, drawn.y_axis.scaling.max, drawn.y_axis.majorUnit = "0%", 1, 0.25
    if chart.form == "bars":
        drawn.x_axis.scaling.orientation, drawn.x_axis.tickLblPos = "maxMin", "low"  # the widest on top
    elif chart.upright:
        drawn.y_axis.scaling.min = 0
        drawn.x_axis.tickLblPos = "low"
    else:
        drawn.y_axis.scaling.orientation = "maxMin"  # payments are negative: turned round, costs rise from zero
        drawn.x_axis.tickLblPos = "high"
    if chart.form == "points":
        for series in chart.series:
            drawn.series.append(_points(series, cells))
        drawn.scatterStyle = "lineMarker"
    else:
        drawn.x_axis.tickLblSkip = drawn.x_axis.tickMarkSkip = chart.label_every
        for series in chart.series:
            drawn.series.append(_line(series, cells) if chart.form == "lines" else _column(series, cells))
        drawn.set_categories(cells(*chart.categories))
    if isinstance(drawn, BarChart):
        drawn.type = "bar" if chart.form == "bars" else "col"
        drawn.grouping = "stacked" if chart.form == "stacked" else "clustered"
        drawn.overlap, drawn.gapWidth = 0 if chart.form == "columns" else 100, 40
        hidden = [index for index, series in enumerate(chart.series) if not series.colour]
        drawn.legend.legendEntry = [LegendEntry(idx=index, delete=True) for index in hidden]
    left = 0.3 if chart.form == "bars" else 0.09
    drawn.layout = Layout(
        manualLayout=ManualLayout(x=left, y=0.19, w=0.97 - left, h=0.65, xMode="edge", yMode="edge")
    )
    return drawn


def _points(series: Series, cells: Cells) -> Any:
    """Points of one series: its cells over those of its ``across``."""
    assert series.across is not None
    points: Any = ChartSeries(cells(series.first, series.last), cells(*series.across), title=series.title)
    points.marker.symbol, points.marker.size = series.symbol, 8
    points.marker.graphicalProperties = GraphicalProperties(solidFill=series.colour)
    points.graphicalProperties.line.noFill = True
    return points


def _column(series: Series, cells: Cells) -> Any:
    column: Any = ChartSeries(cells(series.first, series.last), title=series.title)
    column.graphicalProperties = (
        GraphicalProperties(solidFill=series.colour) if series.colour else GraphicalProperties(noFill=True)
    )
    column.invertIfNegative = False
    return column


def _line(series: Series, cells: Cells) -> Any:
    line: Any = ChartSeries(cells(series.first, series.last), title=series.title)
    line.graphicalProperties.line.solidFill = series.colour
    line.graphicalProperties.line.width = 28575
    line.graphicalProperties.line.dashStyle = series.dash
    line.smooth = False
    line.marker.symbol = "none"
    return line
