"""`manus worker`: execute the runs of the queue."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from manus.cli.options import COUNT

if TYPE_CHECKING:
    from manus.cli.screen import Screen
    from manus.config.settings import Settings
    from manus.worker.metrics import WorkerMetrics


@click.command()
@click.option(
    "--concurrency", metavar="N", type=COUNT, default=4, help="Concurrent runs. [default: 4]"
)
@click.option(
    "--workspace",
    metavar="DIR",
    help="Give each thread its own folder in DIR. [default: the workspace of the task]",
)
@click.option(
    "--metrics", metavar="[HOST:]PORT", help="Serve metrics for Prometheus there, at /metrics."
)
@click.option("--until-empty", is_flag=True, help="Exit when no task is waiting.")
@click.option("-q", "--quiet", is_flag=True, help="Print no progress on stderr.")
def worker(
    concurrency: int, workspace: str | None, metrics: str | None, until_empty: bool, quiet: bool
) -> int:
    """Execute the tasks that `manus run --queue` has queued."""
    import asyncio

    from manus.cli import startup
    from manus.cli.logs import flush_traces, set_up_logging
    from manus.cli.screen import Screen
    from manus.cli.settings import read_settings
    from manus.runs.configuration import check_model, select_main_endpoint
    from manus.worker.queue import check_queue

    settings = read_settings()
    check_queue(settings)
    check_model(select_main_endpoint(settings, None))
    set_up_logging()
    screen = Screen(quiet=quiet)
    options: Any = {"concurrency": concurrency, "metrics": _load_metrics() if metrics else None}
    folder = None if workspace is None else Path(workspace).expanduser().resolve()
    with screen.starting():
        startup.load()
    with flush_traces():
        serving = _serve_metrics(options["metrics"], metrics or "")
        with serving:
            return asyncio.run(_work(settings, screen, folder, options, until_empty=until_empty))


def _load_metrics() -> WorkerMetrics:
    from manus.config.packages import import_optional

    remedy = "pip install prometheus-client"
    module = import_optional("manus.worker.metrics", "--metrics needs", "prometheus-client", remedy)
    metrics: WorkerMetrics = module.WorkerMetrics()
    return metrics


def _serve_metrics(metrics: WorkerMetrics | None, address: str) -> AbstractContextManager[None]:
    """Serve metrics at an address, `HOST:PORT` or a port of this machine alone."""
    from manus.state.errors import UsageError

    if metrics is None:
        return nullcontext()
    host, _, port = address.rpartition(":")
    if not (port.isdecimal() and int(port) < 2**16):
        raise UsageError(f"--metrics takes a port, or HOST:PORT; {address} is neither.")
    return metrics.serve(host or "127.0.0.1", int(port))


async def _work(
    settings: Settings, screen: Screen, folder: Path | None, options: Any, *, until_empty: bool
) -> int:
    """Work until a signal, or until the queue is empty; return the exit code."""
    import asyncio
    import signal

    from manus.runs.signals import StopSignals
    from manus.threads.open_store import open_store
    from manus.worker.queue import open_queue
    from manus.worker.worker import Worker

    worker: Worker | None = None

    def stop() -> None:
        screen.paragraph("Stopping after the current steps … (repeat to exit immediately)")
        if worker is not None:
            worker.stop(settings.queue.grace)

    signals = StopSignals(stop)
    with signals:
        try:
            async with open_store(settings) as store, open_queue(settings) as queue:
                worker = Worker(
                    store,
                    queue,
                    settings,
                    screen.line,
                    workspaces=folder,
                    **options,
                )
                screen.paragraph(f"Worker {worker.name} for the queue in {queue.location}")
                await worker.run(until_empty=until_empty)
        except asyncio.CancelledError:
            if not signals.absorb_cancellation():
                raise
    # ending on SIGTERM is the ordinary end of a service
    return 130 if signals.exit_code == 128 + signal.SIGINT else 0
