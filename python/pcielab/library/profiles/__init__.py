"""Profiles: links, hosts, devices and whole systems in TOML files with their provenance.

`resolve` makes the complete system that the simulator takes, from a name or a file; `names` lists shipped
profiles. The simulator interprets values; files, defaults, units, provenance and errors belong here.
"""

from pcielab.library.profiles.files import KINDS, Kind, json_schema
from pcielab.library.profiles.parts import Card, Host, Link, System
from pcielab.library.profiles.read import names
from pcielab.library.profiles.system import (
    File,
    ResolvedSystem,
    check_file,
    load_host,
    load_system,
    resolve,
    resolve_alone,
)

__all__ = [
    "KINDS",
    "Card",
    "File",
    "Host",
    "Kind",
    "Link",
    "ResolvedSystem",
    "System",
    "check_file",
    "json_schema",
    "load_host",
    "load_system",
    "names",
    "resolve",
    "resolve_alone",
]
