"""The page of a report: its tables, origins and figures."""

import re
from pathlib import Path

import pytest

from pcielab.report import write_report

from .conftest import MakeStore, bandwidth_scalars, parameters, small_paper_suite, stores_in, system


def page_of(tmp_path: Path, *stores: object, **options: object) -> str:
    output = tmp_path / "report.html"
    write_report(list(stores), output, **options)  # type: ignore[arg-type]
    return output.read_text(encoding="utf-8")


def body_of(page: str) -> str:
    """The page without its scripts and styles."""
    return re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.DOTALL)


WRONG = [
    {"status": "failed", "message": "bus <error>"},
    {"status": "not-supported", "message": "the device has no command path"},
    {"status": "interrupted", "message": "stopped"},
]
TESTS = [
    *small_paper_suite(),
    *({"family": "broken", "parameters": parameters("bw-rd", 64), **fault} for fault in WRONG),
]
ONE = [{"family": "single", "parameters": parameters("bw-rd", 64), "scalars": bandwidth_scalars(64)}]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of a run with a changed key and wrong rows, and of measurements."""
    folder = tmp_path_factory.mktemp("page")
    make_store = stores_in(folder)
    run = make_store("a", TESTS, overrides={"host.iommu.walk_ns": 300})
    return page_of(folder, run, measured=make_store("b", origin="measured"))


def test_the_page_loads_no_other_files(page: str) -> None:
    body = body_of(page)
    assert not re.search(r"""\b(?:src|href|action|data)\s*=\s*["']?(?:https?:)?//""", body)
    assert not re.search(r"@import|url\(", page.split("<style>")[1].split("</style>")[0])
    assert "default-src 'none'" in body
    assert "connect-src" not in body


def test_the_page_names_system_link_and_options(page: str) -> None:
    body = body_of(page)
    link = "Gen3 x8, MPS 256, MRRS 512"
    for expected in ("SIMULATED", "made-up", "walk_ns = 300", link, "adaptive", "NOT CALIBRATED"):
        assert expected in body
    assert re.search(r"<dt>seed</dt><dd>7</dd>", body)
    assert "A machine &lt;made up&gt; for tests" in body


def test_every_table_names_its_origin(page: str) -> None:
    captions = re.findall(r"<caption>(.*?)</caption>", body_of(page))
    assert len(captions) > 10
    assert all("SIMULATED" in caption or "MEASURED" in caption for caption in captions)


def test_the_page_shows_every_row_with_its_error(page: str) -> None:
    body = body_of(page)
    tables = body.split('<section id="tables">')[1]
    rows = re.findall(r"<tr(?: class=\"[a-z-]+\")?><td", tables)
    assert len(rows) == len(TESTS) + len(list(small_paper_suite())), "those of the run and the measured ones"
    assert "failed: bus &lt;error&gt;" in body
    assert "not-supported: the device has no command path" in body
    assert '<span class="fault interrupted">1 interrupted</span>' in body


def test_a_single_test_still_gives_a_report(tmp_path: Path, make_store: MakeStore) -> None:
    body = body_of(page_of(tmp_path, make_store("a", ONE, suite="single")))
    assert "33.85 Gb/s" in body
    assert "wire-downstream" in body
    assert "bw_dma_sz_sweep" in body.split("Left out for want of data")[1]


def test_a_row_without_a_window_is_in_no_summary(tmp_path: Path, make_store: MakeStore) -> None:
    wrong = parameters("bw-rd", 64, window_bytes=None)
    store = make_store("a", [{"family": "f", "parameters": wrong, "scalars": bandwidth_scalars(64)}])
    assert "SIMULATED" in body_of(page_of(tmp_path, store))


def test_a_store_without_tests_says_so(tmp_path: Path, make_store: MakeStore) -> None:
    body = body_of(page_of(tmp_path, make_store("a", [])))
    assert "No tests in this store" in body
    assert "SIMULATED" in body


def test_an_import_without_a_profile_is_described_from_its_facts(tmp_path: Path, make_store: MakeStore) -> None:
    link = {"rate_gtps": 8.0, "lanes": 8, "mps_bytes": 256, "mrrs_bytes": 512, "ecrc": True}
    store = make_store(
        "a",
        ONE,
        origin="measured",
        system=None,
        device={"name": "card-a", "link": link},
        host={"processor": "A processor", "command_line": "quiet intel_iommu=on,sp_off"},
        source={"directory": "card_host-s0-s1-s1"},
    )
    body = body_of(page_of(tmp_path, store))
    assert "Gen3 x8, MPS 256, MRRS 512, ECRC" in body
    assert "A processor; IOMMU four-kib-pages; memory on another socket" in body


@pytest.mark.parametrize(
    "changed, figure",
    [
        ({"memory_socket": 1}, "fig8-remote-against-local"),
        ({"iommu": "four-kib-pages"}, "fig9-iommu-against-none"),
    ],
)
def test_two_runs_that_differ_in_one_key_are_compared(
    page: str, tmp_path: Path, make_store: MakeStore, changed: dict[str, object], figure: str
) -> None:
    assert f'<figure id="{figure}">' not in page
    other = make_store("b", system=system(name="other", **changed))
    assert f'<figure id="{figure}">' in page_of(tmp_path, make_store("a"), other)


def test_runs_of_one_system_have_different_names(tmp_path: Path, make_store: MakeStore) -> None:
    body = body_of(page_of(tmp_path, make_store("first", ONE), make_store("second", ONE)))
    assert "made-up (second) · SIMULATED" in body
