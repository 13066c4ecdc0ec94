"""What `pcielab tlp explain` prints: sentences, then the tables of an explanation that are worth reading."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pcielab.cli.markdown_tables import TableFormat, markdown_table
from pcielab.cli.output import Cell, Format, print_data, print_rows, print_text, say_sentences

if TYPE_CHECKING:
    from pcielab.captures import Explanation

_SHOWN = 20
"""Rows of a table that may have many."""
_FEW = 4
"""Reads from which on the median of a group is worth a comparison."""
_PAGES = 4
"""Pages of a table: the slowest."""


def print_explanation(found: "Explanation", played: list[dict[str, Cell]], output_format: TableFormat) -> None:
    """Print what a capture shows, and its accesses as `played` on a simulated host with other cuts."""
    if output_format is TableFormat.JSON:
        from pcielab.strict_json import strict_json

        print_data(strict_json({**found.report, "played": played}, indent=1))
        return
    if output_format is TableFormat.CSV:
        say_sentences(found.sentences)
        print_rows(_long(found, played), Format.CSV)
        return
    markdown = output_format is TableFormat.MARKDOWN
    for sentence in found.sentences:
        print_text(sentence + ("\n" if markdown else ""))
    for title, rows in _tables(found, played):
        if markdown:
            print_text(f"## {title}\n\n{markdown_table(rows)}\n")
        else:
            print_text("")
            print_rows(rows, Format.TABLE, title)


def _long(found: "Explanation", played: list[dict[str, Cell]]) -> list[dict[str, Cell]]:
    """Every number of the tables as a row: table, row, key, value."""
    rows: list[dict[str, Cell]] = []
    for title, table in _tables(found, played, whole=True):
        for number, row in enumerate(table):
            rows += [{"table": title, "row": number, "key": key, "value": value} for key, value in row.items()]
    return rows


def _tables(
    found: "Explanation", played: list[dict[str, Cell]], *, whole: bool = False
) -> Iterator[tuple[str, list[dict[str, Cell]]]]:
    """The tables with their titles, `whole` or with what is worth reading; none is empty."""
    report = found.report
    for title, rows in (
        ("Link and settings", list(_settings(found))),
        ("Data", [dict(row) for row in report["moved"]]),
        ("Time by cause", _shares(found)),
        ("Latency of reads, ns: to the start of the last completion", _latencies(report, whole=whole)),
        ("The same accesses with other cuts: closed form", _cuts(found)),
        ("The same accesses as early as possible: simulated", played),
        ("Write-combining lines of the host", _lines(report)),
        ("Doorbells, and the device's first read after each", _doorbells(report)),
        ("Reads of descriptors, and the transfers that they point to", _descriptors(report)),
        ("Broken rules: the first of each", [dict(row) for row in report["violations"][:_SHOWN]]),
        ("Completions with errors", [{"status": status, "count": count} for status, count in report["errors"]]),
        (
            "Parts of the file that were not read",
            [{"what": what, "count": count, "first_record": first} for what, count, first in report["skipped"]],
        ),
        (
            f"The first transactions of {report['counts']['tlps']} TLPs by their requests, ns",
            report["transactions"][:_SHOWN],
        ),
    ):
        if rows:
            yield title, rows


def _settings(found: "Explanation") -> Iterator[dict[str, Cell]]:
    report, settings, link = found.report, found.report["settings"], found.report["link"]
    exact = {True: "used whole", False: "at least: nothing larger was sent"}
    shown = {
        "stated": "stated",
        "file": "stated in the file",
        "pace": "slowest link on which the fastest packets fit",
    }
    if link["generation"] is not None:
        yield _setting("link", " or ".join(link["alike"]), shown[link["source"]])
    if link["flits"] is not None:
        yield _setting("flits", "yes" if link["flits"] else "no", "")
    yield _setting("MPS", settings["mps_bytes"], exact[settings["mps_is_used"]])
    if settings["largest_read_bytes"]:
        yield _setting("MRRS", settings["mrrs_bytes"], exact[settings["mrrs_is_used"]])
    cut = settings["completions_cut_at_bytes"]
    if cut is not None:
        why = "completions end there" if settings["rcb_bytes"] else "not shown: completions are cut at MPS"
        yield _setting("RCB", settings["rcb_bytes"], why)
        yield _setting("completions cut at", cut, "largest power of two that divides every cut")
    if settings["tags_in_flight"]:
        yield _setting("tags", settings["tags_in_flight"], "most reads of the device in flight")
        yield _setting("highest tag", settings["highest_tag"], "10 bits" if settings["ten_bit_tags"] else "8 bits")
    for key, name in (
        ("relaxed_share", "relaxed ordering"),
        ("no_snoop_share", "no snoop"),
        ("id_ordering_share", "ID-based ordering"),
    ):
        if settings[key] is not None:
            yield _setting(name, f"{100 * settings[key]:.3g} %", "of the device's requests")
    again = report["acknowledgements"]
    if again["tlps_with_sequence"]:
        yield _setting("sent again", again["sent_again"], f"TLPs; {again['naks']} Naks")
    if report["latency"] is not None:
        yield _setting("out of order", report["out_of_order"], "reads that ended after a later one")


def _setting(name: str, value: Cell, meaning: str) -> dict[str, Cell]:
    return {"setting": name, "value": None if value is None else str(value), "meaning": meaning}


def _shares(found: "Explanation") -> list[dict[str, Cell]]:
    return [
        {"direction": row.direction, "cause": row.cause, "us": row.ns / 1000, "percent": 100 * row.share}
        for row in sorted(found.shares, key=lambda row: (row.direction, -row.share))
    ]


_TIMES = ("count", "least_ns", "average_ns", "p10_ns", "median_ns", "p95_ns", "p99_ns", "most_ns")


def _latencies(report: dict[str, Any], *, whole: bool) -> list[dict[str, Cell]]:
    rows: list[dict[str, Cell]] = []
    for name, key in (
        ("device reads", "latency"),
        ("their first completion", "first_latency"),
        ("host reads", "host_latency"),
    ):
        if report[key] is not None:
            rows.append({"of": name} | {time.removesuffix("_ns"): report[key][time] for time in _TIMES})
    for by in ("size", "offset in page", "page"):
        groups = [row for row in report["groups"] if row["by"] == by]
        if not whole and not _differ(groups, report):
            continue
        for row in groups if whole or by != "page" else groups[:_PAGES]:
            key = "others" if row["key"] is None else hex(row["key"]) if by == "page" else row["key"]
            rows.append({"of": f"{by} {key}"} | {time.removesuffix("_ns"): row[time] for time in _TIMES})
    return rows


def _differ(groups: list[dict[str, Any]], report: dict[str, Any]) -> bool:
    """Whether a group with enough reads has a median more than a tenth off that of all of the device's reads."""
    if report["latency"] is None:
        return False
    median = report["latency"]["median_ns"]
    return any(abs(row["median_ns"] - median) > median / 10 for row in groups if row["count"] >= _FEW)


def _cuts(found: "Explanation") -> list[dict[str, Cell]]:
    return [
        {
            "cuts": row.cuts,
            "reads": round(row.read_requests),
            "writes": round(row.write_tlps),
            "upstream_bytes": round(row.upstream_bytes),
            "downstream_bytes": round(row.downstream_bytes),
            "link_gbps": row.link_gbps,
            "bound_gbps": row.bound_gbps,
            "bound": row.bound,
        }
        for row in found.cuts
    ]


def _ns(ps: int | None) -> float | None:
    return None if ps is None else ps / 1000


def _lines(report: dict[str, Any]) -> list[dict[str, Cell]]:
    return [
        {
            "record": row["record"],
            "line": hex(row["address"]),
            "writes": row["packets"],
            "bytes": row["bytes"],
            "evicted": "full" if row["full"] else "in parts",
            "after_ns": _ns(row["after_ps"]),
        }
        for row in report["stores"]["evictions"][:_SHOWN]
    ]


def _doorbells(report: dict[str, Any]) -> list[dict[str, Cell]]:
    return [
        {
            "record": row["record"],
            "address": hex(row["address"]),
            "bytes": row["bytes"],
            "read_record": row["read_record"],
            "read_after_ns": _ns(row["read_after_ps"]),
        }
        for row in report["stores"]["doorbells"][:_SHOWN]
    ]


def _descriptors(report: dict[str, Any]) -> list[dict[str, Cell]]:
    return [
        {
            "record": row["record"],
            "address": hex(row["address"]),
            "bytes": row["bytes"],
            "doorbell": row["doorbell_record"],
            "latency_ns": _ns(row["latency_ps"]),
            "data_record": row["data_record"],
            "data_address": None if row["data_address"] is None else hex(row["data_address"]),
            "data_bytes": row["data_bytes"],
            "data_after_ns": _ns(row["data_after_ps"]),
        }
        for row in report["stores"]["descriptor_reads"][:_SHOWN]
    ]
