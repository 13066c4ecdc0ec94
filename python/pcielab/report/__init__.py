"""Reports: what a run shows, as one HTML file, and its figures one by one.

    from pcielab.report import write_report
    from pcielab.store import open_store

    write_report([open_store("run.db")], "report.html")

`pcielab.report.figures` has the figures as functions from stores to Altair charts; `save_figure` writes one as
PNG, SVG, PDF or HTML. Everything is made from stores alone, and every picture and table says where its numbers
come from.
"""

from pcielab.extras import require

require(("altair", "jinja2", "vl_convert"), "report")

# What follows imports these, and whoever lacks them should read what to install.
from pcielab.report import figures  # noqa: E402
from pcielab.report.save import save_figure  # noqa: E402
from pcielab.report.write import write_report  # noqa: E402

__all__ = ["figures", "save_figure", "write_report"]
