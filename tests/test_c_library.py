"""The C library of a simulated host: its header compiles as C and C++, and its example plays a trace."""

import subprocess
from pathlib import Path
from shutil import which

import pytest

from pcielab import load_system
from pcielab.port.trace import play, record

ROOT = Path(__file__).parents[1]
CRATE = ROOT / "crates" / "pcie-port"
LIBRARY = ROOT / "target" / "debug" / "libpcie_port.a"
COMPILERS = {"C": ("cc", "-std=c99", "-xc"), "C++": ("c++", "-std=c++11", "-xc++")}
needs_library = pytest.mark.skipif(
    not LIBRARY.exists(), reason=f"needs the library: make {LIBRARY.relative_to(ROOT)}"
)


def compiled(language: str, *arguments: object) -> None:
    command = COMPILERS[language]
    if which(command[0]) is None:
        pytest.skip(f"needs {command[0]}, a compiler of {language}")
    warnings = ("-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{CRATE / 'include'}")
    whole = [*command, *warnings, *map(str, arguments)]
    done = subprocess.run(whole, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def player(tmp_path: Path) -> Path:
    """The example, as a program."""
    program = tmp_path / "play_trace"
    libraries = ("-x", "none", LIBRARY, "-lpthread", "-ldl", "-lm")
    compiled("C", CRATE / "examples" / "play_trace.c", *libraries, "-o", program)
    return program


@pytest.mark.parametrize("language", COMPILERS)
@pytest.mark.parametrize("source", [*sorted(CRATE.glob("examples/*.c")), ROOT / "bench" / "port_reads.c"])
def test_programs_compile_without_warnings(language: str, source: Path) -> None:
    compiled(language, "-fsyntax-only", source)


@needs_library
def test_a_wrong_system_is_an_error_with_a_text(player: Path, tmp_path: Path) -> None:
    (tmp_path / "system.json").write_text("{}")
    (tmp_path / "trace").write_text("# pcielab trace 1\n")
    done = subprocess.run(
        [player, tmp_path / "system.json", tmp_path / "trace"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "system: " in done.stderr


@needs_library
@pytest.mark.parametrize("system", ["hsw2620", "snb-iommu", "clx-6234"])
def test_c_and_trace_play_agree_to_the_picosecond(player: Path, tmp_path: Path, system: str) -> None:
    host = load_system(system)
    trace = tmp_path / "dma.trace"
    # Recorded elsewhere, so that the tags and credits of two of the systems bind at other times.
    trace.write_text(record(load_system("hsw2620"), "bw-rdwr", size=256, window="1M", transactions=10_000))
    (tmp_path / "system.json").write_text(host.to_json())
    done = subprocess.run(
        [player, tmp_path / "system.json", trace], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    in_c = [tuple(map(int, line.split()[1:])) for line in done.stdout.splitlines()]
    played = [(transfer.sent_ps, transfer.done_ps) for transfer in play(host, trace.read_text())]
    assert len(played) == 10_000
    assert in_c == played
