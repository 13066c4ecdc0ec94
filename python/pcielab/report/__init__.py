"""Reports: what a run shows, as one HTML file, and its figures one by one.

    from pcielab.report import write_report
    from pcielab.store import open_store

    write_report([open_store("run.db")], "report.html")

`pcielab.report.figures` has the figures as functions from stores to Altair charts; `save_figure` writes one as
PNG, SVG, PDF or HTML. Everything is made from stores alone, and every picture and table says where its numbers
come from.
"""

from pcielab.report import figures
from pcielab.report.save import save_figure
from pcielab.report.write import write_report

__all__ = ["figures", "save_figure", "write_report"]
