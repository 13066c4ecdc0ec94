"""Reports: a run as one HTML file, and single figures.

    from pcielab.report import write_report
    from pcielab.store import open_store

    write_report([open_store("run.db")], "report.html")

`pcielab.report.figures` has the figures as functions from stores to Altair charts; `save_figure` writes one as
PNG, SVG, PDF or HTML. Stores are the only input; every picture and table states the origin of its numbers.
"""

from pcielab.extras import require

require(("altair", "jinja2", "vl_convert"), "report")

# Checked before the imports below, so that the error names the extra to install.
from pcielab.report import figures  # noqa: E402
from pcielab.report.offline import draw_offline  # noqa: E402
from pcielab.report.save import save_figure  # noqa: E402
from pcielab.report.write import write_report  # noqa: E402

draw_offline()

__all__ = ["figures", "save_figure", "write_report"]
