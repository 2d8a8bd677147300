"""What docs/clients.md shows of clients that are not installed with Vouch is run."""

from __future__ import annotations

import subprocess

import pytest

from tests.clients.clients import NODE, THEIRS, Place
from tests.clients.drivers import HERE
from tests.clients.matrix import PAGE
from tests.test_docs import blocks

RUN = {"py": (THEIRS, ["-c"]), "js": (NODE, ["--input-type=module", "-e"])}
SHOWN = [(*RUN[language], code) for language in RUN for code in blocks(PAGE, language)]


@pytest.mark.parametrize(("place", "options", "code"), SHOWN)
def test_a_client_works_as_it_is_shown(place: Place, options: list[str], code: str, base_url: str) -> None:
    program = place.program()
    if program is None:
        pytest.skip(place.advice)
    code = code.replace("http://127.0.0.1:8000/v1", base_url)
    done = subprocess.run([program, *options, code], cwd=HERE, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    assert "https://vouch.example/corpus/" in done.stdout
