"""`vouch serve --workers N`: processes that serve one port, started, watched and ended by this one."""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import secrets
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from ctypes import c_double
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path

from prometheus_client.multiprocess import mark_process_dead
from pydantic import SecretStr

from proxy.aio import cores
from proxy.cli.compose import silent
from proxy.cli.logs import set_up
from proxy.config.settings import Settings
from proxy.errors import ConfigError, VouchError
from proxy.server.rates import SharedLevels
from proxy.server.worker_group import WorkerGroup

log = logging.getLogger(__name__)

METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""The variable by which prometheus-client knows, when it is imported, that several processes count."""
STUCK = 60.0
"""Seconds after which a worker whose event loop does nothing is ended, and another one started."""
_FIRST_PAUSE, _LAST_PAUSE = 1.0, 60.0
"""Seconds until a worker that ended is started again; doubled while new ones end before they serve."""
_FAREWELL = 10.0
"""Seconds beyond the time to drain that workers may take to end."""

Serve = Callable[[Settings, socket.socket, WorkerGroup, Callable[[str], None], Callable[[int], None]], None]
"""Serves until a signal comes, over settings, listener and group. It tells lines about what it loads, and the
number of passages once it serves."""


@dataclass(slots=True)
class Worker:
    """A process, and what it told."""

    number: int
    process: SpawnProcess
    told: Connection
    beat: c_double
    """When its event loop last ran, by `time.monotonic`, in a value that both share."""
    passages: int | None = None
    """How many there are in its indexes, once it serves."""
    failure: str = ""
    """Why it could not start."""


class Supervisor:
    """Starts workers, starts another one for each that ends, and hands signals on.

    The first one starts alone, so that what is wrong is said once. All accept connections from the same
    listener: one that has ended loses no connection but its own.

    Args:
        serve: what a worker does; a function of a module, so that a new process can import it.
        settings: for all of them. What is for the whole server is divided among them.
        listener: the socket that they accept connections from.
        folder: what they share lies there.
    """

    def __init__(self, serve: Serve, settings: Settings, listener: socket.socket, folder: Path) -> None:
        self._serve = serve
        self._count = settings.server.workers
        self._settings = shared_settings(settings)
        self._listener = listener
        self._folder = folder
        self._context = multiprocessing.get_context("spawn")
        self._workers: dict[int, Worker] = {}
        self._due: dict[int, float] = {}
        self._pauses = dict.fromkeys(range(1, self._count + 1), 0.0)
        self._signals: list[int] = []

    def run(self, started: Callable[[int], None]) -> int:
        """Serves until SIGINT or SIGTERM, which is the result. `started` is told the number of passages when
        all workers serve.

        Raises:
            ConfigError: a worker could not start.
        """
        with self._signals_caught() as woken, self._workers_ended():
            self._start(1, first=True)
            begun = False
            while not (ending := self._ending()):
                self._look(woken, begun)
                passages = [worker.passages for worker in self._workers.values()]
                if begun or None in passages:
                    continue
                if len(passages) < self._count:
                    for number in range(2, self._count + 1):
                        self._start(number)
                else:
                    begun = True
                    started(passages[0] or 0)
        return ending

    def _start(self, number: int, *, first: bool = False) -> None:
        ours, theirs = self._context.Pipe(duplex=False)
        beat = self._context.Value("d", time.monotonic(), lock=False)
        process = self._context.Process(
            target=work,
            args=(self._serve, self._settings, self._listener, self._folder, first, theirs, beat),
            name=f"vouch worker {number}",
        )
        process.start()
        theirs.close()
        self._workers[number] = Worker(number, process, ours, beat)

    def _ending(self) -> int:
        """The signal to stop, if one came; 0 if none did. Others are done."""
        while self._signals:
            number = self._signals.pop(0)
            if number != getattr(signal, "SIGHUP", None):
                return number
            for worker in self._workers.values():
                self._send(worker, number)
        return 0

    def _look(self, woken: int, begun: bool) -> None:
        """Waits for something to happen, and does what is due."""
        pipes = [worker.told for worker in self._workers.values() if not worker.told.closed]
        sentinels = [worker.process.sentinel for worker in self._workers.values()]
        if woken in wait([woken, *pipes, *sentinels], timeout=1.0):
            os.read(woken, 4096)
        for worker in list(self._workers.values()):
            self._listen(worker)
            if worker.process.exitcode is not None:
                self._ended(worker, begun)
            elif worker.passages is not None and time.monotonic() - worker.beat.value > STUCK:
                log.error("worker %d has done nothing for %g s; it is ended", worker.number, STUCK)
                worker.process.kill()
        for number, due in list(self._due.items()):
            if time.monotonic() >= due:
                del self._due[number]
                try:
                    self._start(number)
                except OSError as error:  # no more processes, memory or files: the others serve on
                    self._start_later(number, f"could not be started: {error.strerror}", failed=True)

    def _listen(self, worker: Worker) -> None:
        """Reads what a worker tells: the number of passages when it serves, or why it can't."""
        try:
            while not worker.told.closed and worker.told.poll():
                told = worker.told.recv()
                if isinstance(told, int):
                    worker.passages, self._pauses[worker.number] = told, 0.0
                else:
                    worker.failure = str(told)
        except (EOFError, OSError):
            worker.told.close()

    def _ended(self, worker: Worker, begun: bool) -> None:
        status = _told_status(worker.process.exitcode or 0)
        worker.told.close()
        del self._workers[worker.number]
        mark_process_dead(worker.process.pid, str(self._folder))  # type: ignore[no-untyped-call]
        if not begun:
            raise ConfigError(worker.failure or f"A worker ended while it started ({status}).")
        why = f": {worker.failure}" if worker.failure else ""
        self._start_later(worker.number, f"ended ({status}){why}", failed=worker.passages is None)

    def _start_later(self, number: int, what: str, *, failed: bool) -> None:
        """Has another worker started: at once, or, where one `failed` before it served, after a pause."""
        if failed:
            self._pauses[number] = min(_LAST_PAUSE, 2 * self._pauses[number] or _FIRST_PAUSE)
        pause = self._pauses[number]
        log.error("worker %d %s; another one starts in %g s", number, what, pause)
        self._due[number] = time.monotonic() + pause

    @staticmethod
    def _send(worker: Worker, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            if worker.process.pid and worker.process.exitcode is None:
                os.kill(worker.process.pid, number)

    @contextlib.contextmanager
    def _signals_caught(self) -> Iterator[int]:
        """The end of a pipe on which signals can be waited for; they are in `self._signals`."""
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        was_on_terminal = on_terminal()

        def came(number: int, _frame: object) -> None:
            closed = number != signal.SIGINT and was_on_terminal and not on_terminal()
            self._signals.append(signal.SIGTERM if closed else number)

        caught = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
        before = {number: signal.signal(number, came) for number in caught}
        woken = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        try:
            yield reading
        finally:
            signal.set_wakeup_fd(woken)
            for number, handler in before.items():
                signal.signal(number, handler)
            os.close(reading)
            os.close(writing)

    @contextlib.contextmanager
    def _workers_ended(self) -> Iterator[None]:
        """At the end of the block: workers end what they are at, and are killed if they don't end in time."""
        try:
            yield
        finally:
            server = self._settings.server
            end = time.monotonic() + server.drain_delay + server.drain + _FAREWELL
            for worker in self._workers.values():
                self._send(worker, signal.SIGTERM)
            for worker in self._workers.values():
                while worker.process.exitcode is None and time.monotonic() < end:
                    worker.process.join(0.1)
                    if signal.SIGINT in self._signals:  # once more: now
                        end = time.monotonic()
                if worker.process.exitcode is None:
                    log.error("worker %d did not end in time and is killed", worker.number)
                    worker.process.kill()
                    worker.process.join()


def supervise(
    serve: Serve,
    settings: Settings,
    listener: socket.socket,
    say: Callable[[str], None],
    started: Callable[[int], None],
) -> int:
    """Serves by several workers until a signal comes, which is the result. See `Supervisor`."""
    say(f"Starting {settings.server.workers} workers ...")
    with tempfile.TemporaryDirectory(prefix="vouch-workers-") as folder:
        os.environ[METRICS_FOLDER] = folder
        try:
            return Supervisor(serve, settings, listener, Path(folder)).run(started)
        finally:
            del os.environ[METRICS_FOLDER]


def work(
    serve: Serve,
    settings: Settings,
    listener: socket.socket,
    folder: Path,
    first: bool,
    told: Connection,
    beat: c_double,
) -> None:
    """What a worker's process does: it serves until the supervisor ends it, or is gone itself."""
    signal.signal(signal.SIGTERM, _end)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; the supervisor says when to end
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    supervisor = os.getppid()
    threading.Thread(target=_end_with_parent, name="supervisor", daemon=True).start()
    set_up(settings)

    def beats() -> None:
        beat.value = time.monotonic()

    def reload() -> None:
        if hasattr(signal, "SIGHUP"):
            os.kill(supervisor, signal.SIGHUP)

    levels = SharedLevels(folder / "levels")
    group = WorkerGroup(settings.server.workers, folder, levels, beats, reload)

    try:
        serve(settings, listener, group, say if first else silent, told.send)
    except VouchError as error:
        told.send(error.message)
        raise SystemExit(2) from None


def shared_settings(settings: Settings) -> Settings:
    """What each worker gets: threads and connections are divided among them, and all sign links alike."""
    server, workers = settings.server, settings.server.workers
    secret = server.link_secret or SecretStr(secrets.token_hex(32))
    total = settings.runtime.threads
    threads = max(1, (cores() if total == "auto" else total) // workers)
    return settings.model_copy(
        update={
            "server": server.model_copy(
                update={"link_secret": secret, "max_connections": -(-server.max_connections // workers)}
            ),
            "runtime": settings.runtime.model_copy(update={"threads": threads}),
        }
    )


def say(line: str) -> None:
    """Tells what a worker loads."""
    print(line, flush=True)


def on_terminal() -> bool:
    """Whether standard input is a terminal that is still open."""
    return os.isatty(0)


def _told_status(exitcode: int) -> str:
    return f"signal {-exitcode}" if exitcode < 0 else f"status {exitcode}"


def _end(_number: int, _frame: object) -> None:
    """Ends the process in order. uvicorn raises the signals that it has seen again when it has ended."""
    raise SystemExit(0)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
