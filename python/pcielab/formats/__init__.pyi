"""Names of the package, loaded at first use: `pcielab.on_demand` reads this file."""

from pcielab.formats import exporters as exporters, importers as importers
