"""Builds the site of the docs into `site/`, in an environment of its own. Links and anchors that lead nowhere end it with 1.

    python3 tests/make_site.py

It ends with 3 where the packages that it is made with can't be had from here. mkdocs calls the functions `on_…` as well.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENT = ROOT / ".venv-site"
PYTHON = ENVIRONMENT / "bin" / "python"
GROUPS = ROOT / "pyproject.toml"
# Links of pages to programs that stand beside the docs.
BESIDE = re.compile(r"\]\((?:\.\./)+(examples/[\w/]+\.py)\)")


def prepare() -> None:
    """Makes the environment, once for each list of packages."""
    group = re.search(r"^docs = \[.*?^\]", GROUPS.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert group is not None, "pyproject.toml has no dependency group `docs`"
    wanted = hashlib.sha256(group[0].encode()).hexdigest()
    stamp = ENVIRONMENT / "stamp"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    print("== an environment for the site", flush=True)
    pip = [str(PYTHON), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    try:
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(ENVIRONMENT)], check=True)
        subprocess.run([*pip, "--upgrade", "pip>=25.1"], cwd=ROOT, check=True)
        subprocess.run([*pip, "--group", "docs"], cwd=ROOT, check=True)
    except subprocess.CalledProcessError as error:
        print(f"the site can't be made here: {' '.join(error.cmd)} failed", file=sys.stderr)
        raise SystemExit(3) from None
    stamp.write_text(wanted)


def main() -> int:
    """Builds it, and says how long that took."""
    began = time.monotonic()
    prepare()
    ready = time.monotonic()
    # `--quiet` would not count warnings, and a link that leads nowhere is one.
    build = [str(PYTHON), "-W", "ignore", "-m", "mkdocs", "build", "--strict"]
    # The theme's makers speak of their other products in each build unless told not to.
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(build, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        told = [line for line in done.stderr.splitlines() if not line.startswith("INFO")]
        print(*told, "the site was not built", sep="\n", file=sys.stderr)
        return 1
    pages = len([*(ROOT / "site").rglob("*.html")])
    ended = time.monotonic()
    print(f"{pages} pages in site/: {ready - began:.0f} s for the environment, {ended - ready:.0f} s for the pages")
    return 0


def on_files(files: Any, config: Any) -> Any:
    """Programs that pages link to are part of the site."""
    from mkdocs.structure.files import File

    for page in [*files.documentation_pages()]:
        for name in BESIDE.findall(page.content_string):
            if (ROOT / name).is_file() and files.get_file_from_path(name) is None:
                files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, page: Any, **_rest: Any) -> str:
    """The links go to where they stand there."""
    up = "../" * page.file.src_uri.count("/")
    return BESIDE.sub(rf"]({up}\1)", markdown)


if __name__ == "__main__":
    sys.exit(main())
