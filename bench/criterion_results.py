"""Results of `cargo bench`, from the files that criterion leaves."""

import json
from pathlib import Path


def criterion_results(directory: Path, newer_than: Path) -> dict[str, float]:
    """Median seconds of each benchmark, or elements per second if it has a throughput.

    Args:
        directory: `target/criterion`.
        newer_than: A file; older results belong to benchmarks that no longer exist.
    """
    results = {}
    for described in sorted(directory.glob("*/*/new/benchmark.json")):
        estimates = described.with_name("estimates.json")
        if estimates.stat().st_mtime < newer_than.stat().st_mtime:
            continue
        benchmark = json.loads(described.read_text())
        seconds = json.loads(estimates.read_text())["median"]["point_estimate"] * 1e-9
        elements = (benchmark["throughput"] or {}).get("Elements")
        name = benchmark["full_id"] + (", 1/s" if elements else ", s")
        results[name] = elements / seconds if elements else seconds
    return results
