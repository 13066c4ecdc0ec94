"""A small directory in the published format, shared by tests of stores, importers and exporters."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from pcielab.formats.published import BANDWIDTH_HEAD, LATENCY_HEAD

# By default, an example may take 0.2 s, which a busy machine exceeds.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

BANDWIDTH = """\
BW_DMA_RD,Rand,HWarm,0,0,8192,16,151242672,126035560.0,134217728,8388608,8.519356156310172,66557469.97117322
BW_DMA_RD,Rand,HWarm,0,0,1572864.0,64,160588240,133823533.33333333,536870912,8388608,32.09426017247589,62684101.89936698
BW_DMA_RW,Rand,Cold,0,0,8192,16,151242672,126035560.0,67108864,4194304,4.259678078155086,33278734.985586613
"""
"""The first row is as published; the others are made up, with columns that agree with one another."""

DETAILS = """\
LAT_CMD_RD,Rand,Cold,0,0,8192,8,803,571.2,576.0,544,592,576.0,592.0,669.1666666666666,476.0,480.0,453.3333333333333,493.3333333333333,480.0,493.3333333333333,0,10
LAT_CMD_RD,Rand,HWarm,0,0,8192,8,736,560.0,560.0,544,576,576.0,576.0,613.3333333333334,466.6666666666667,466.6666666666667,453.3333333333333,480.0,480.0,480.0,0,4
LAT_CMD_RD,Rand,HWarm,0,0,8192,8,736,560.0,560.0,544,576,576.0,576.0,613.3333333333334,466.6666666666667,466.6666666666667,453.3333333333333,480.0,480.0,480.0,0,4
"""
"""The last row appears twice: importers keep duplicates."""

CDF = """\
cycles,ns,cdf
544,453.3333333333333,0
544,453.3333333333333,0.2
576,480.0,0.9
592,493.3333333333333,1.0
544,453.3333333333333,0
544,453.3333333333333,0.25
576,480.0,1.0
544,453.3333333333333,0
544,453.3333333333333,0.25
576,480.0,1.0
"""


def write(path: Path, text: str) -> None:
    """Write a file with the line ends of the published CSV files."""
    path.write_bytes(text.replace("\n", "\r\n").encode())


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """A folder in the published format: three bandwidth rows, three latency rows with distributions, one text."""
    directory = tmp_path / "nfp6000-1.2GHz_small"
    directory.mkdir()
    write(directory / "bw_dma_sz_sweep.csv", ",".join(BANDWIDTH_HEAD) + "\n" + BANDWIDTH)
    write(directory / "lat_cmd_details.csv", ",".join(LATENCY_HEAD) + "\n" + DETAILS)
    write(directory / "lat_cmd_details_cdf.csv", CDF)
    (directory / "sys-cpuinfo.txt").write_text("model name\t: Xeon\nphysical id\t: 0\ncache size\t: 15360 KB\n")
    return directory
