"""`pcielab simbricks`: a brick between a simulated device and its host, or instead of the host."""

from pathlib import Path
from typing import Annotated, Any

import typer

from pcielab.cli.option_sets import Cache, Profile, Seed, Sets, WarmWindow, refuse_device_changes
from pcielab.cli.output import say


def simbricks(
    devices: Annotated[
        list[Path],
        typer.Option("--device", metavar="SOCKET", help="Socket on which a device listens; repeatable."),
    ],
    hosts: Annotated[
        list[Path] | None,
        typer.Option(
            "--host",
            metavar="SOCKET",
            help="Socket to make for the host of a device, one for each, in the same order.  [default: stand in]",
            show_default=False,
        ),
    ] = None,
    profile: Profile = "hsw2620",
    changes: Sets = None,
    cache: Cache = "cold",
    window: WarmWindow = 8 << 10,
    latency_ns: Annotated[
        float,
        typer.Option("--latency-ns", min=0.001, max=1e9, help="Latency of each connection, as the peers have it."),
    ] = 500,
    patience_s: Annotated[
        float,
        typer.Option("--patience-s", min=0.1, max=86400, help="For how long a peer may stand still in real time."),
    ] = 30,
    seed: Seed = 1,
) -> None:
    """Put a calibrated link, tags, credits, ordering, root complex, IOMMU and caches into a SimBricks simulation.

    The brick is a host towards each device and a device towards its host; without `--host` it stands in for the
    host and its memory. Reads go on to the host at once and are answered when the host has given the data and
    the simulated host would have; writes and interrupts go on when they have passed. Accesses to registers only
    take the latency. All peers must synchronise. It ends when they end; a peer that stops, stands still or
    breaks the interface is an error.

    Examples:
    `pcielab simbricks --profile hsw2620 --device nic.sock --host gem5.sock`

    `pcielab simbricks --profile snb-iommu --device accelerator.sock`
    """
    from pcielab.library.profiles import resolve
    from pcielab.port.simbricks import couple, time_of_a_read

    refuse_device_changes(changes, "the device is simulated elsewhere")
    system = resolve(profile, changes or [])
    how: dict[str, Any] = {"cache": cache, "window_bytes": window, "seed": seed}
    say(f"note: {time_of_a_read(system, latency_ns, host=bool(hosts), **how)}")
    passed = couple(
        system,
        devices,
        hosts or [],
        **how,
        latency_ns=latency_ns,
        patience_s=patience_s,
    )
    say(f"simulated: {passed.time_ns:.3f} ns, {passed.messages} messages")
