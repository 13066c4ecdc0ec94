"""Suite, system and conditions of a run for the head of a report: the whole manifest, in words."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pcielab.charts.run import Run
from pcielab.kinds.machine_facts import no_link
from pcielab.kinds.messages.combining import caution
from pcielab.kinds.transfers.link_bounds import link_of, link_text
from pcielab.library.profiles.borrowed import borrowed_in_short
from pcielab.store.manifest import borrowed_of
from pcielab.store.setup import setup_of

# Keys shown separately, or not at all.
_APART = {
    *("format", "version", "origin", "title", "suite", "suite_digest", "tests", "system", "overrides", "seed"),
    *(
        "options",
        "backend",
        "device",
        "host",
        "borrowed",
        "fitted_to",
        "extrapolated",
        "conditions_before",
        "conditions_after",
    ),
}
_LONGEST_VALUE = 160


@dataclass(frozen=True)
class Provenance:
    """One run's part of the head of a report.

    Attributes:
        label: The run's name in legends.
        badge: Its origin, as printed.
        title: One line for people.
        measured_overlay: Whether it is drawn as points over the others.
        facts: Names and values, the important ones first.
        overrides: Changes to the system: keys and values.
        system: Every parameter of the resolved system: dotted keys and values.
        attachments: Names of the texts in the store.
        faults: Number of tests by status, without `ok`.
    """

    label: str
    badge: str
    title: str
    measured_overlay: bool
    facts: list[tuple[str, str]]
    overrides: list[tuple[str, str]]
    system: list[tuple[str, str]]
    attachments: list[str]
    faults: dict[str, int]


def provenance(run: Run) -> Provenance:
    """The provenance in the manifest of a run."""
    statuses = run.rows["status"].value_counts()
    return Provenance(
        label=run.name,
        badge=run.badge,
        title=run.store.title,
        measured_overlay=run.measured_overlay,
        facts=list(_facts(run)),
        overrides=[(str(key), _text(value)) for key, value in (run.manifest.get("overrides") or {}).items()],
        system=list(_flat(run.manifest.get("system") or _facts_of_import(run))),
        attachments=sorted(run.store.attachments),
        faults={str(status): int(count) for status, count in statuses.items() if status != "ok"},
    )


def _facts_of_import(run: Run) -> dict[str, Any]:
    """The facts of an import's machine, which has no profile."""
    return {part: run.manifest[part] for part in ("device", "host") if run.manifest.get(part)}


def _facts(run: Run) -> Iterator[tuple[str, str]]:
    manifest = run.manifest
    yield "file", run.store.path.name
    found = caution(run.store)
    if found is not None:
        yield "caution", found
    yield "system", _system(run)
    borrowed = borrowed_of(manifest)
    if borrowed:
        yield "borrowed", borrowed_in_short(borrowed, run.store.require_system())
    if manifest.get("fitted_to"):
        yield "fitted to", str(manifest["fitted_to"])
    if manifest.get("extrapolated"):
        yield "extrapolated", str(manifest["extrapolated"])
    link = link_of(run)
    unknown = "none, or not reported by the device" if no_link(run.store) else "unknown"
    yield "link", link_text(link) if link is not None else unknown
    if manifest.get("suite"):
        yield "suite", f"{manifest['suite']}, {run.store.extent}"
    if manifest.get("seed") is not None:
        yield "seed", str(manifest["seed"])
    for key, value in {**(manifest.get("options") or {}), **_backend(manifest)}.items():
        # Devices without options have an empty table.
        if value != {}:
            yield ("sampling" if key == "samples" else str(key)), _text(value)
    device = manifest.get("device") or {}
    if device:
        yield "device", _device(device)
    for when in ("before", "after"):
        if manifest.get(f"conditions_{when}"):
            yield f"conditions {when}", _conditions(manifest[f"conditions_{when}"])
    for key, value in manifest.items():
        if key not in _APART and value not in (None, "", {}, []):
            yield key, _text(value)
    if manifest.get("version"):
        yield "pcielab", str(manifest["version"])


def _conditions(conditions: Sequence[Any]) -> str:
    """Readings that vary, in words: `load 5.41, temperature 61 C`."""
    words = []
    for row in conditions:
        value = row.get("value") if isinstance(row, Mapping) else None
        if isinstance(value, float | int):
            unit = "" if row.get("unit") == "1" else f" {row.get('unit')}"
            words.append(f"{str(row.get('metric')).replace('_', ' ')} {value:.4g}{unit}")
    return _text(words) if words else "none could be read"


def _backend(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The backend, where it says more than the origin."""
    backend = dict(manifest.get("backend") or {})
    if backend.get("kind") == "sim":
        del backend["kind"]
    return backend


def _system(run: Run) -> str:
    """The system's name and set-up."""
    system, setup = run.manifest.get("system") or {}, setup_of(run.manifest)
    words = [system.get("name"), system.get("title"), None if system else setup.host]
    words.append(f"IOMMU {setup.iommu}" if setup.iommu is not None else None)
    if setup.sockets is not None:
        where = "the device's" if setup.memory_is_local else "another"
        words.append(f"memory on {where} socket")
    words.append("NOT CALIBRATED" if system.get("calibrated") is False else None)
    return "; ".join(dict.fromkeys(str(word) for word in words if word)) or "unknown"


def _device(device: Mapping[str, Any]) -> str:
    words = [str(device.get("name") or "unnamed")]
    timer = device.get("timer") or {}
    if timer.get("numerator_ns") and timer.get("denominator"):
        words.append(f"timer tick {timer['numerator_ns'] / timer['denominator']:.3f} ns")
    if device.get("latency_includes"):
        words.append(f"a latency includes: {', '.join(map(str, device['latency_includes']))}")
    return "; ".join(words)


def _flat(value: object, key: str = "") -> Iterator[tuple[str, str]]:
    """The leaves of a profile with their dotted keys."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _flat(inner, f"{key}.{name}" if key else str(name))
    else:
        yield key, _text(value)


def _text(value: object) -> str:
    if isinstance(value, Mapping):
        text = ", ".join(f"{key} {_text(inner)}" for key, inner in value.items())
    elif isinstance(value, list | tuple):
        text = ", ".join(_text(inner) for inner in value)
    else:
        text = "-" if value is None else str(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]} ..."
