"""Thresholds for health checks: what each question must reach at least, for Prometheus, programs and a shell.

A threshold is the lower end of the expected range. A question whose answer rests on an edge that nobody measured
has none.
"""

import json
import re
import shlex
from collections.abc import Callable, Mapping

from pcielab.expectations.expecting import Expectation, Expectations

_METRIC = "pcielab_measured_gbytes_per_second"
_LATENCY = "us"


def thresholds(expected: Expectations, form: str) -> str:
    """The thresholds of a machine in one of the forms of `THRESHOLDS`.

    Raises:
        KeyError: There is no such form.
    """
    return THRESHOLDS[form](expected)


def _rows(expected: Expectations) -> list[Expectation]:
    """The rows that have a threshold: known ones with a rate."""
    return [
        row
        for row in expected.rows
        if row.given is not None and row.given.lower and not row.given.unknown and row.given.unit != _LATENCY
    ]


def _least(row: Expectation) -> float:
    """The lower end, rounded down to three digits, so that it is never above what is expected."""
    lower = row.given.lower if row.given is not None and row.given.lower is not None else 0.0
    return float(f"{lower * 0.9995:.3g}")


def _prometheus(expected: Expectations) -> str:
    lines = [
        f"# {expected.machine.name}: alerts on {_METRIC}{{question=...}}, which a health check exports.",
        "groups:",
        f"  - name: {_quoted('pcielab-expect-' + expected.machine.name)}",
        "    rules:",
    ]
    for row in _rows(expected):
        assert row.given is not None
        lines += [
            f"      - alert: {_alert(row.asked.text)}",
            f"        expr: {_quoted(f'{_METRIC}{{question={json.dumps(row.asked.text)}}} < {_least(row):g}')}",
            "        labels: {severity: warning}",
            "        annotations:",
            f"          summary: {_quoted(f'{row.asked.text} gives less than {_least(row):g} GB/s')}",
            f"          edge: {_quoted(row.given.limit)}",
            f"          rests_on: {_quoted(row.given.shown_rows)}",
        ]
    return "\n".join(lines)


def _alert(question: str) -> str:
    words = re.sub(r"[^A-Za-z0-9]+", " ", question).title().replace(" ", "")
    return f"Pcielab{words[:60]}"


def _yaml(expected: Expectations) -> str:
    lines = [f"machine: {_quoted(expected.machine.name)}", "thresholds:"]
    for row in _rows(expected):
        assert row.given is not None
        upper = f"{row.given.upper:.4g}" if row.given.upper is not None else "null"
        lines += [
            f"  - question: {_quoted(row.asked.text)}",
            f"    of: {_quoted(row.asked.of)}",
            f"    at_least_gbytes_per_s: {_least(row):g}",
            f"    at_most_gbytes_per_s: {upper}",
            f"    edge: {_quoted(row.given.limit)}",
            f"    sureness: {row.given.sureness}",
            f"    rests_on: [{', '.join(map(_quoted, row.given.rows))}]",
        ]
    return "\n".join(lines)


def _shell(expected: Expectations) -> str:
    """A script that reads `QUESTION VALUE` lines and needs nothing but a POSIX shell and awk."""
    cases = []
    for row in _rows(expected):
        assert row.given is not None
        edge = row.given.limit.replace("'", "")
        cases.append(f"  {shlex.quote(row.asked.text)}) least={_least(row):g}; edge={shlex.quote(edge)} ;;")
    return "\n".join(
        [
            "#!/bin/sh",
            f"# {expected.machine.name}: reads lines of a question, a tab and GB/s; ends with 1 if one is low.",
            "# For the output of a tool: pcielab expect MACHINE --check OUTPUT",
            "failed=0",
            "while IFS='\t' read -r question value; do",
            "  least=; edge=",
            '  case "$question" in',
            *cases,
            "  esac",
            '  [ -n "$least" ] || { echo "unknown: $question" >&2; continue; }',
            '  if awk -v value="$value" -v least="$least" \'BEGIN { exit !(value < least) }\'; then',
            '    echo "low: $question: $value GB/s, at least $least expected: $edge"; failed=1',
            "  fi",
            "done",
            'exit "$failed"',
        ]
    )


def _quoted(text: str) -> str:
    """A string of YAML: one of JSON is one."""
    return json.dumps(text, ensure_ascii=False)


THRESHOLDS: Mapping[str, Callable[[Expectations], str]] = {
    "prometheus": _prometheus,
    "yaml": _yaml,
    "shell": _shell,
}
"""The forms of thresholds."""
