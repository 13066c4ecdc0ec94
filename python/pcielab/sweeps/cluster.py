"""Compute points on the workers of a Dask scheduler: on this machine, Slurm, LSF, Kubernetes.

If a worker dies, other workers repeat its batches.
"""

import time
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import count, islice
from typing import Any

from pcielab import _core
from pcielab.errors import RunError
from pcielab.extras import needed
from pcielab.sweeps.point import results as results_of
from pcielab.sweeps.processes import Batch

_WAITING_MOST = 256
"""Batches at the scheduler at a time; each carries its systems."""
_CONNECTION_SECONDS = 20
_DEATHS_MOST = 20
_WITHOUT_WORKERS_SECONDS = 60.0
"""Nothing is computed for so long, and the scheduler has no worker: workers that come back do so earlier."""
_LOOKS_SECONDS = 0.01


def cluster_results(address: str, batches: Iterable[Batch]) -> Iterator[tuple[int, list[str]]]:
    """The results of numbered batches, in completion order, from the scheduler at `address` (`tcp://HOST:PORT`).

    Raises:
        InputError: Dask is not installed, or a worker has another version of pcielab.
        RunError: The scheduler does not answer, has no workers, or workers keep dying on the same batch.
    """
    with connected(address) as client:
        yield from _Asking(needed("distributed", "sweep"), client).results(batches)


def connected(address: str) -> Any:
    """A client of the scheduler at an address, to be closed by `with`.

    Raises:
        InputError: Dask is not installed.
        RunError: The scheduler does not answer.
    """
    distributed = needed("distributed", "sweep")
    try:
        return distributed.Client(address, timeout=_CONNECTION_SECONDS, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise RunError(f"--dask {address}: no scheduler answers there: {error}") from None


class _Asking:
    def __init__(self, distributed: Any, client: Any) -> None:
        self._distributed = distributed
        self._client = client
        self._asked: dict[Any, tuple[Batch, int]] = {}
        self._numbers = count()

    def results(self, batches: Iterable[Batch]) -> Iterator[tuple[int, list[str]]]:
        source = iter(batches)
        first = [self._submit(batch) for batch in islice(source, _WAITING_MOST)]
        done = self._distributed.as_completed(first, loop=self._client.loop)
        again: deque[Any] = deque()
        while not done.is_empty():
            self._wait_for(done)
            future = next(done)
            batch, deaths = self._asked.pop(future)
            try:
                found: list[str] = future.result()
            except self._distributed.KilledWorker:
                again.append(self._again(batch, deaths + 1))
            else:
                yield batch[0], found
                following = next(source, None)
                if following is not None:
                    again.append(self._submit(following))
            while again:
                done.add(again.popleft())

    def _wait_for(self, done: Any) -> None:
        """Wait for a future that has ended, unless no worker is left that could end one."""
        without_workers: float | None = None
        while not done.has_ready():
            time.sleep(_LOOKS_SECONDS)
            if self._client.scheduler_info()["workers"]:
                without_workers = None
                continue
            without_workers = without_workers or time.monotonic()
            if time.monotonic() - without_workers > _WITHOUT_WORKERS_SECONDS:
                address = self._client.scheduler.address
                raise RunError(
                    f"--dask {address}: the scheduler has had no worker for {_WITHOUT_WORKERS_SECONDS:g} s: start "
                    "one (dask worker ADDRESS), then give --resume"
                )

    def _again(self, batch: Batch, deaths: int) -> Any:
        if deaths > _DEATHS_MOST:
            raise RunError(f"workers keep dying on the same {len(batch[1])} points: see their logs")
        return self._submit(batch, deaths)

    def _submit(self, batch: Batch, deaths: int = 0) -> Any:
        key = f"pcielab-{next(self._numbers)}"
        future = self._client.submit(results_of, list(batch[1]), _core.__version__, key=key, pure=False)
        self._asked[future] = (batch, deaths)
        return future
