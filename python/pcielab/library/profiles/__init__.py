"""Profiles: descriptions of links, hosts, cards and whole systems, kept in TOML with their provenance.

`resolve` makes the complete system that the simulator takes, from a name or a file; `names` lists what is shipped.
What a value does belongs to the simulator; files, defaults, units, provenance and helpful errors belong here.
"""

from pcielab.library.profiles.files import KINDS, Kind, json_schema
from pcielab.library.profiles.parts import Card, Host, Link, System
from pcielab.library.profiles.read import names
from pcielab.library.profiles.system import ResolvedSystem, check_file, load_host, load_system, resolve

__all__ = [
    "KINDS",
    "Card",
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
]
