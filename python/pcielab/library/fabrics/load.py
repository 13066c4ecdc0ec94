"""Find and read fabrics and their flows.

The compiled half (`crates/pcie-describe`) reads their files, replaces short forms, and refuses impossible trees.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pcielab import _core
from pcielab.argument_types import refuses_wrong_types
from pcielab.errors import found_in, refusal
from pcielab.library import shipped
from pcielab.library.alike import suggestion
from pcielab.library.fabrics.flows import flows_in, frame_in
from pcielab.library.fabrics.machine_parts import MachinePart, Node
from pcielab.library.fabrics.parts import Flow
from pcielab.library.input_files import given_path, read_toml_text
from pcielab.library.lookup import profile_file
from pcielab.library.profiles.files import compiled
from pcielab.library.profiles.provenance import Provenance
from pcielab.library.profiles.read import opened, parse_sets
from pcielab.library.profiles.system import changed_title
from pcielab.wording import named

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Fabric:
    """A checked fabric and the file that it was read from."""

    handle: _core.Fabric
    path: Path

    @property
    def name(self) -> str:
        """Short name."""
        return self.handle.name

    @property
    def title(self) -> str:
        """One line for people, with its changes."""
        return changed_title(str(self.handle.get("title")), self.overrides)

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """Its nodes, in order."""
        return tuple(
            Node(
                one["name"],
                one["kind"],
                one["host"],
                one["device"],
                MachinePart(**one["machine"]) if one["machine"] else None,
            )
            for one in self.handle.get("node")
        )

    @property
    def node_names(self) -> list[str]:
        """The names of its nodes, in order."""
        return [node.name for node in self.nodes]

    @property
    def links(self) -> list[tuple[str, str]]:
        """The upper and the lower node of each link."""
        return [(link["upper"], link["lower"]) for link in self.handle.get("link")]

    @property
    def is_machine(self) -> bool:
        """Whether it is a machine's (`pcielab fabric from`), whose root complex limits flows between devices."""
        return any(node.machine is not None for node in self.nodes)

    @property
    def provenance(self) -> Provenance:
        """Source of its values."""
        sources: Any = self.handle.provenance()
        return Provenance(**sources)

    @property
    def flow_sets(self) -> list[str]:
        """The names of the sets of flows in its file."""
        return self.handle.flow_sets()

    @property
    def flow_files(self) -> dict[str, str]:
        """Sets of flows in files of their own, by name: paths relative to its file."""
        files: dict[str, str] = self.handle.get("flows")["files"]
        return files

    def to_json(self) -> str:
        """The fabric as canonical JSON, as the compiled half takes it."""
        return self.handle.json()

    def with_(self, changes: Mapping[str, object]) -> "Fabric":
        """This fabric with changes by dotted key: `{"devices.gpu.engine.tags": 64, "node.s1.delay_ns": 90}`.

        Keys are those of its file; a node, memory or link is named by its name, a link by that of its lower node.

        Raises:
            InputError: A key is unknown, a value is wrong, or the fabric is impossible.
        """
        return Fabric(self.handle.with_(parse_sets(changes)), self.path) if changes else self

    @property
    def overrides(self) -> dict[str, Any]:
        """Its changes, as `--set` takes them."""
        return {f"fabric.{key}": value for key, value in self.handle.changes().items()}

    def flows(self, chosen: str | None = None) -> "pd.DataFrame":
        """A set of flows as a frame, one row each, with the columns of `Flow`.

        Args:
            chosen: A set of the fabric's file, or the path of a CSV or Parquet file; absent: the default set.

        Raises:
            InputError: The set or file is missing, or a flow in it is wrong.
        """
        found = self._found(chosen)
        if isinstance(found, Path):
            from pcielab.library.fabrics.flow_files import read_columns

            columns = read_columns(found)
            self.handle.check_ends(columns, str(found))
            return frame_in(columns)
        return frame_in(self._columns(found))

    def listed(self, chosen: str | None = None) -> list[Flow] | Path:
        """The flows of a set, named and checked, without pandas; or the CSV or Parquet file that holds the set.

        Arguments and errors are those of `flows`.
        """
        found = self._found(chosen)
        return found if isinstance(found, Path) else flows_in(self._columns(found))

    def _columns(self, chosen: str) -> dict[str, list[Any]]:
        return self.handle.flows(chosen, f"{self.path}: flows {named(chosen)}")

    def _found(self, chosen: str | None) -> str | Path:
        """The name of a set, or the file that holds it."""
        files = self.flow_files
        known = [*self.flow_sets, *files]
        chosen = chosen or self.handle.default_set() or (known[0] if len(known) == 1 else None)
        if chosen is None and not known:
            raise refusal(
                "missing",
                f"{self.path}: has no flows: add a table [[flow]] with source and destination for each, or give "
                "--flows FILE.csv, or --flow 'A->B' or --pattern of pcielab fabric",
            )
        if chosen is None:
            raise refusal(
                "missing", f"{self.path}: name a set of flows with --flows; the file has: {', '.join(known)}"
            )
        if chosen in self.flow_sets:
            return chosen
        if chosen in files or chosen.endswith((".csv", ".parquet")):
            return given_path(files[chosen], self.path.parent) if chosen in files else given_path(chosen)
        raise refusal(
            "not-found",
            f"--flows {named(chosen)}: not a set of {self.path}: {suggestion(chosen, known)}; for a file give its "
            "path (*.csv, *.parquet)",
        )


@dataclass(frozen=True)
class RecordedFabric:
    """A fabric as the manifest of a run describes it."""

    handle: _core.Fabric

    @cached_property
    def description(self) -> dict[str, Any]:
        """Its nodes and links."""
        return self.handle.values()

    @property
    def node_names(self) -> list[str]:
        """The names of its nodes, in order."""
        return [str(node["name"]) for node in self.description["nodes"]]

    @property
    def links(self) -> list[tuple[str, str]]:
        """The upper and the lower node of each link."""
        return [(str(link["upper"]), str(link["lower"])) for link in self.description["links"]]

    def to_json(self) -> str:
        """The fabric as canonical JSON, as the compiled half takes it."""
        return self.handle.json()


def recorded(manifest: Mapping[str, Any], where: str) -> RecordedFabric:
    """The fabric that the manifest of a run describes; `where` is the run's path for errors."""
    description = (manifest.get("system") or {}).get("fabric")
    if not isinstance(description, dict):
        raise refusal("missing", f"{where}: the manifest describes no fabric: give a run of pcielab fabric run")
    with found_in(f"{where}: system.fabric"):
        return RecordedFabric(_core.Fabric.of_json(json.dumps(description)))


def names() -> list[str]:
    """The shipped fabrics."""
    return list(shipped.profile_files("fabric"))


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a fabric file."""
    return compiled(_core.Fabric.schema(list(shipped.fabric_device_files())), "FabricFile")


@refuses_wrong_types
def load(name_or_path: str, sets: Mapping[str, object] | Sequence[str] = ()) -> Fabric:
    """The fabric of that name (`fabrex-u55c`), or in that file (`*.toml`).

    Args:
        name_or_path: Name or file.
        sets: Changes, as `{"mps_bytes": 256}` or `["node.S.delay_ns=90"]`; see `Fabric.with_`.

    Raises:
        InputError: The fabric is missing or wrong; the message names file, item, value and remedy.
    """
    path = profile_file("fabric", name_or_path)
    return of_text(read_toml_text(path), path, sets)


def of_text(text: str, path: Path, sets: Mapping[str, object] | Sequence[str] = ()) -> Fabric:
    """The fabric of a file's text; without `name` it has that of the file.

    Args:
        text: The text of the file.
        path: The file, for messages and for flows in files beside it.
        sets: Changes, as for `load`.

    Raises:
        InputError: The fabric is wrong; the message names file, item, value and remedy.
    """
    hosts, devices = list(shipped.profile_files("host")), list(shipped.fabric_device_files())
    return Fabric(_core.Fabric.read(text, str(path), parse_sets(sets), hosts, devices, _opened), path)


def _opened(kind: Any, reference: str, beside: str | None) -> tuple[str, str]:
    """The text and path of a host profile, or of a preset of a device."""
    if kind != "fabric-device":
        return opened(kind, reference, beside)
    path = shipped.fabric_device_files()[reference]
    return read_toml_text(path), str(path)


@refuses_wrong_types
def check_ends(fabric: Fabric | RecordedFabric, flows: "pd.DataFrame", where: str) -> "pd.DataFrame":
    """The flows, if their ends are nodes of the fabric."""
    fabric.handle.check_ends({key: flows[key].tolist() for key in ("source", "destination")}, where)
    return flows
