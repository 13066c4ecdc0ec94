"""pcielab: model, simulate, measure and explain PCIe performance.

The command line's work as functions:

    import pcielab

    system = pcielab.load_system("snb").with_(llc_ddio_ways=4)
    run = pcielab.simulate(system, "quick")
    run.frame[["name", "size_bytes", "bandwidth_gbps"]]
    pcielab.sweep(system, test="bw-rd", window=["64K", "1M", "16M"], size=[64, 512]).plot()

`run`, `simulate` and `sweep` make numbers; `explain`, `compare`, `calibrate` and `validate` draw conclusions from
runs; `bounds` and `model` compute closed-form bounds. `doctor` examines a machine, `fabric` shares a fabric among
flows, `report` draws figures and reports, `formats` reads and writes other tools' files. `help(pcielab.sweep)`
shows an example, as for each of them. Names load on first use, so that commands start fast.
"""

from pcielab.on_demand import names_on_demand

__getattr__, __dir__ = names_on_demand(__name__, __file__)
