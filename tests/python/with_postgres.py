"""A Postgres of one's own for tests: Debian's package, started as an ordinary user in a folder that goes afterwards."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path


def binaries() -> Path | None:
    """Where `initdb` and `pg_ctl` are, if anywhere."""
    found = shutil.which("initdb")
    if found is not None and Path(found).with_name("pg_ctl").exists():
        return Path(found).parent
    newest = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    return newest[-1].parent if newest else None


class Postgres:
    """A cluster with a database for each test."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self.folder, self.programs = folder, programs
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            self.port: int = listener.getsockname()[1]
        # It refuses to be run by root.
        self.as_user: list[str] = []
        if os.geteuid() == 0:
            shutil.chown(folder, "nobody")
            self.as_user = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
        self.call("initdb", "-D", str(folder / "data"), "-U", "postgres", "-A", "trust", "--no-sync")
        self.start()

    def call(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [*self.as_user, str(self.programs / program), *arguments],
            check=True,
            cwd="/",
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def start(self) -> None:
        options = f"-p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1 -c max_connections=60"
        data, log = str(self.folder / "data"), str(self.folder / "log")
        self.call("pg_ctl", "-D", data, "-o", options, "-l", log, "-w", "start")

    def stop(self, how: str = "fast") -> None:
        self.call("pg_ctl", "-D", str(self.folder / "data"), "-m", how, "-w", "stop")

    def url(self, name: str = "postgres") -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{name}"

    def database(self, name: str) -> str:
        """The address of a new database."""
        import psycopg

        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f'create database "{name}"')
        return self.url(name)


@contextlib.contextmanager
def postgres() -> Iterator[Postgres]:
    programs = binaries()
    assert programs is not None, "there is no Postgres here"
    with tempfile.TemporaryDirectory(prefix="loopwright-pg-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        server = Postgres(Path(folder), programs)
        try:
            yield server
        finally:
            with contextlib.suppress(subprocess.CalledProcessError):
                server.stop("immediate")
