"""Find, read and check fabrics and their flows."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pcielab import _core
from pcielab.argument_types import refuses_wrong_types
from pcielab.errors import InputError, found_in
from pcielab.library import shipped
from pcielab.library.alike import suggestion
from pcielab.library.fabrics.files import FabricFile
from pcielab.library.fabrics.flows import frame_of, with_names
from pcielab.library.fabrics.parts import Flow
from pcielab.library.input_files import given_path, read_toml
from pcielab.library.lookup import profile_file
from pcielab.library.validation import checked
from pcielab.wording import named

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Fabric:
    """A checked fabric and the file that it was read from."""

    file: FabricFile
    path: Path

    @property
    def name(self) -> str:
        """Short name."""
        return self.file.name

    @property
    def title(self) -> str:
        """One line for people."""
        return self.file.title or self.file.name

    @property
    def node_names(self) -> list[str]:
        """The names of its nodes, in order."""
        return [node.name for node in self.file.node]

    @property
    def links(self) -> list[tuple[str, str]]:
        """The upper and the lower node of each link."""
        return [(link.upper, link.lower) for link in self.file.link]

    @property
    def is_machine(self) -> bool:
        """Whether it is a machine's (`pcielab fabric from`), whose root complex limits flows between devices."""
        return any(node.machine is not None for node in self.file.node)

    def to_json(self) -> str:
        """The fabric as canonical JSON, as the compiled half takes it."""
        return canonical(self.file.description())

    def flows(self, chosen: str | None = None) -> "pd.DataFrame":
        """A set of flows as a frame, one row each, with the columns of `Flow`.

        Args:
            chosen: A set of the fabric's file, or the path of a CSV or Parquet file; absent: the default set.

        Raises:
            InputError: The set or file is missing, or a flow in it is wrong.
        """
        listed = self.listed(chosen)
        if isinstance(listed, list):
            return frame_of(listed, str(self.path))
        from pcielab.library.fabrics.flow_files import read_flows

        return check_ends(self, read_flows(listed), str(listed))

    def listed(self, chosen: str | None = None) -> list[Flow] | Path:
        """The flows of a set, named and checked, without pandas; or the CSV or Parquet file that holds the set.

        Arguments and errors are those of `flows`.
        """
        sets, files = self.file.flows.sets, self.file.flows.files
        known = [*sets, *files]
        chosen = chosen or self.file.flows.default or (known[0] if len(known) == 1 else None)
        if chosen is None and not known:
            raise InputError(
                f"{self.path}: has no flows: add a table [[flow]] with source and destination for each, or give "
                "--flows FILE.csv, or --flow 'A->B' or --pattern of pcielab fabric"
            )
        if chosen is None:
            raise InputError(f"{self.path}: name a set of flows with --flows; the file has: {', '.join(known)}")
        if chosen in sets:
            where = f"{self.path}: flows {named(chosen)}"
            flows = with_names(sets[chosen], where)
            for key in ("source", "destination"):
                _check_end(self, key, [getattr(flow, key) for flow in flows], where)
            return flows
        if chosen in files or chosen.endswith((".csv", ".parquet")):
            return given_path(files[chosen], self.path.parent) if chosen in files else given_path(chosen)
        raise InputError(
            f"--flows {named(chosen)}: not a set of {self.path}: {suggestion(chosen, known)}; for a file give its "
            "path (*.csv, *.parquet)"
        )


@dataclass(frozen=True)
class RecordedFabric:
    """A fabric as the manifest of a run describes it.

    Attributes:
        description: `system.fabric` of the manifest.
    """

    description: dict[str, Any]

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
        return canonical(self.description)


def canonical(description: dict[str, Any]) -> str:
    """A description of a fabric as canonical JSON."""
    return json.dumps(description, sort_keys=True, separators=(",", ":"))


def recorded(manifest: Mapping[str, Any], where: str) -> RecordedFabric:
    """The fabric that the manifest of a run describes; `where` is the run's path for errors."""
    description = (manifest.get("system") or {}).get("fabric")
    if not isinstance(description, dict):
        raise InputError(f"{where}: the manifest describes no fabric: give a run of pcielab fabric run")
    fabric = RecordedFabric(description)
    with found_in(f"{where}: system.fabric"):
        _core.fabric_check(fabric.to_json())
    return fabric


def names() -> list[str]:
    """The shipped fabrics."""
    return list(shipped.profile_files("fabric"))


@refuses_wrong_types
def load(name_or_path: str) -> Fabric:
    """The fabric of that name (`fabrex-u55c`), or in that file (`*.toml`).

    Raises:
        InputError: The fabric is missing or wrong; the message names file, item, value and remedy.
    """
    path = profile_file("fabric", name_or_path)
    return of_content(read_toml(path), path)


def of_content(content: dict[str, Any], path: Path) -> Fabric:
    """The fabric of a file's content; without `name` it has that of the file.

    Args:
        content: The file as a table.
        path: The file, for messages and for flows in files beside it.

    Raises:
        InputError: The fabric is wrong; the message names file, item, value and remedy.
    """
    fabric = Fabric(checked(FabricFile, {"name": path.stem, **content}, str(path)), path)
    with found_in(path):
        _core.fabric_check(fabric.to_json())
    return fabric


@refuses_wrong_types
def check_ends(fabric: Fabric | RecordedFabric, flows: "pd.DataFrame", where: str) -> "pd.DataFrame":
    """The flows, if their ends are nodes of the fabric."""
    for key in ("source", "destination"):
        _check_end(fabric, key, flows[key], where)
    return flows


def _check_end(fabric: Fabric | RecordedFabric, key: str, ends: Iterable[str], where: str) -> None:
    nodes = frozenset(fabric.node_names)
    for number, name in enumerate(ends, start=1):
        if name not in nodes:
            remedy = suggestion(str(name), fabric.node_names)
            raise InputError(f"{where}: flow {number}: {key} is {named(str(name))}: unknown node: {remedy}")
