"""Rules about errors that the link has seen."""

from collections.abc import Iterator

from pcielab.doctor.finding import Observation, Severity, Sureness
from pcielab.doctor.rules.rule import judged, rule, value
from pcielab.doctor.tree import Tree


@rule("D04")
def errors_counted(tree: Tree) -> Iterator[Observation]:
    """A receiver counts bad TLPs, bad DLLPs and replays as correctable errors (PCIe 6.0, section 6.2.3.2.2).

    A sum since boot says little, so it is only a note; `--watch` shows whether it rises. The sticky bits of CESta
    are not judged: nothing shows when they were set.
    """
    for function in tree.functions:
        counted = function.errors.correctable if function.errors else None
        some = {name: count for name, count in (counted or {}).items() if count and not name.startswith("TOTAL")}
        if some:
            parent = tree.parent(function)
            yield Observation(
                **judged(Severity.NOTE, Sureness.LOOK_UNDER_LOAD, function, parent),
                what=f"{sum(some.values())} correctable errors since boot",
                values=tuple(
                    value(function, f"aer_dev_correctable {name}", count) for name, count in some.items()
                ),
                remedy="watch whether they rise under load: pcielab doctor --watch 30",
            )
