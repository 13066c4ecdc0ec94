"""Simulated pictures of the guides, drawn again: four files in `docs/images`."""

from pathlib import Path
from tempfile import TemporaryDirectory

from pcielab import Frames, load_suite, model, run
from pcielab.paper.figures import run_of
from pcielab.report import figures, save_figure

IMAGES = Path(__file__).parents[1] / "docs" / "images"
FRAMES = [*range(64, 1501, 128)]
SWEEPS = ("lat_cmd_sweep_rd_rnd_08", "lat_cmd_sweep_wrrd_rnd_08")
"""Families of the picture of latencies over the window."""


def main() -> None:
    """Draw them."""
    nic = Frames(model.load_nic("niantic-dpdk"), FRAMES, model.Ethernet())
    hosts = [run(nic, profile=system) for system in ("ib-000", "ib-000-nosp", "ib-011")]
    draw("nic-on-three-systems", figures.nic_throughput(hosts))
    messages = run("kpio", profile="kpio-2012")
    draw("message-steps", figures.message_steps(messages))
    draw("message-bandwidth-by-size", figures.message_bandwidth_by_size(messages))
    drawn = [number for number, test in enumerate(load_suite("paper").tests) if test["family"].startswith(SWEEPS)]
    with TemporaryDirectory() as folder:
        sweeps = run_of("snb", "paper", Path(folder), only=drawn)
        draw("report-latency-by-window", figures.latency_by_window(sweeps))


def draw(name: str, figure: figures.Figure) -> None:
    """Write a picture."""
    save_figure(figure, IMAGES / f"{name}.png")
    print(f"{name}.png: written")


if __name__ == "__main__":
    main()
