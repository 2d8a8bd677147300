"""Requests that schemathesis makes out of `/openapi.json`: no server error, and every answer as described.

`VOUCH_TEST_CASES` says how many are made per operation, and with `-s` the number of requests is printed:

    VOUCH_TEST_CASES=620 python -m pytest tests/server/test_openapi_cases.py -s      # over 10,000 requests
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from proxy.config.load import validate
from proxy.openai_api.openapi import OPERATIONS
from tests.corpora import build_index, library_of
from tests.serving import serving

schemathesis = pytest.importorskip("schemathesis", reason="needs schemathesis (pip install schemathesis)")

SENT: Counter[int] = Counter()
"""Requests that were answered, by status."""
CASES = int(os.environ.get("VOUCH_TEST_CASES", "5"))


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The described API of a server with the embedded models: no error is an upstream's."""
    out = tmp_path_factory.mktemp("fuzzed") / "index"
    build_index(out)
    library = library_of(out)
    chosen = validate({"retrieval": {"threshold": -1.0}, "verification": {"deadline": 10.0}})
    with serving(chosen, library) as url:
        yield schemathesis.openapi.from_url(f"{url.removesuffix('/v1')}/openapi.json")
    library.close()
    print(f"\n{SENT.total():,} requests, by status: {dict(sorted(SENT.items()))}")


WITH_BODY = [operation for operation in sorted(OPERATIONS) if OPERATIONS[operation].body]
MADE = [
    *((operation, "positive") for operation in sorted(OPERATIONS)),
    *((operation, "negative") for operation in WITH_BODY),
]


@pytest.mark.timeout(1200)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("operation", "mode"), MADE)
def test_answers_to_what_is_described_and_what_is_not(api: Any, operation: str, mode: str) -> None:
    method, path = operation.split(" ")
    known = schemathesis.checks
    wanted = [
        known.response_schema_conformance,
        known.status_code_conformance,
        known.content_type_conformance,
        *([] if path == "/readyz" else [known.not_a_server_error]),  # its 503 is an answer
    ]
    described = api[path][method]
    generation = schemathesis.GenerationMode(mode)

    @given(case=described.as_strategy(generation_mode=generation))
    @settings(
        max_examples=CASES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def hold(case: Any) -> None:
        answer = case.call(timeout=120)
        SENT[answer.status_code] += 1
        case.validate_response(answer, checks=wanted)

    hold()
