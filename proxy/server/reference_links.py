"""Links to the passages that replies cite. Where clients need a key, a link carries a signature that expires,
so that it opens in a browser, which has no key."""

from __future__ import annotations

import hmac
import math
import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from urllib.parse import quote

from proxy.config.settings import Server
from proxy.types import Evidence, Passage

Span = tuple[int, int]

ROUTE = "/v1/references/"

_EXPIRES = re.compile(rb"(?:^|&)expires=([0-9]{1,12})(?:&|$)")
_INDEX = re.compile(rb"(?:^|&)index=([A-Za-z0-9_.-]{1,64})(?:&|$)")
_SIGNATURE = re.compile(rb"(?:^|&)signature=([0-9A-Za-z]{1,128})(?:&|$)")
_MAX_QUERY = 1000
"""A longer query is never a link of ours."""


@dataclass(frozen=True, slots=True)
class Signer:
    """Signs links to single passages, for `lifetime` seconds.

    The signature is the HMAC (RFC 2104) with SHA-256 of the passage's id and the time at which the link
    expires, in whole seconds since 1970. It admits to that passage and the few around it, nothing else.
    `clock` tells the seconds since 1970. Each index has a secret of its own, made of the one that all have,
    so that a link opens no passage of another index.
    """

    secret: bytes
    lifetime: float
    clock: Callable[[], float] = time.time
    index: str = ""
    """The index whose passages are linked to; empty: the one of all keys that name none."""

    def over(self, index: str) -> Signer:
        """What signs links to that index, made of one without an index."""
        if not index:
            return self
        secret = hmac.new(self.secret, f"index {index}".encode(), sha256).digest()
        return replace(self, secret=secret, index=index)

    def expiry(self) -> int:
        """When a link that is made now expires."""
        return math.ceil(self.clock() + self.lifetime)

    def query(self, passage_id: str, expires: int) -> str:
        """The part of a link's query that admits to the passage."""
        named = f"index={self.index}&" if self.index else ""
        return f"{named}expires={expires}&signature={self._signature(passage_id, expires)}"

    def refusal(self, path: str, query: bytes) -> str | None:
        """Why the link does not admit to the path; None where it does. "" where it has no signature."""
        passage_id = path.removeprefix(ROUTE)
        if not path.startswith(ROUTE) or not passage_id or "/" in passage_id or len(query) > _MAX_QUERY:
            return ""
        given, named = _EXPIRES.search(query), _SIGNATURE.search(query)
        if given is None or named is None:
            return ""
        expires = int(given[1])
        signature = self.over(index_of(query))._signature(passage_id, expires)
        if not hmac.compare_digest(signature.encode(), named[1]):
            return "The signature of this link is wrong."
        if expires < self.clock():
            return "This link has expired."
        return None

    def _signature(self, passage_id: str, expires: int) -> str:
        signed = f"{passage_id}\n{expires}".encode()
        return hmac.new(self.secret, signed, sha256).hexdigest()


def index_of(query: bytes) -> str:
    """The index that the query of a link names; empty where it names none."""
    named = _INDEX.search(query)
    return named[1].decode() if named else ""


def signer_of(server: Server) -> Signer | None:
    """Signs the links of a server that asks for keys; None where everybody may read passages, or no link is
    to open without a key (a lifetime of 0).

    Without a configured secret it is a new one: links end with the process, and open on no other copy.
    """
    if not server.has_keys or not server.link_lifetime:
        return None
    given = server.link_secret.get_secret_value().encode() if server.link_secret else secrets.token_bytes(32)
    return Signer(given, server.link_lifetime)


def pages_of(
    base_url: str, signer: Signer | None, stored: Callable[[str], Passage | None]
) -> Callable[[str, Span | None], str]:
    """The address of the page of a passage, by its id, with a quote marked; empty for a passage that is not
    `stored`. All links of one reply expire at the same time, so a passage has the same link all through a
    stream."""
    base, expires = base_url.rstrip("/"), signer.expiry() if signer else 0

    def url(passage_id: str, span: Span | None) -> str:
        if stored(passage_id) is None:
            return ""
        marked = [f"quote={span[0]}-{span[1]}"] if span else []
        signed = [signer.query(passage_id, expires)] if signer else []
        query = "&".join([*marked, *signed])
        return f"{base}{ROUTE}{passage_id}{'?' if query else ''}{query}"

    return url


def links_to(
    base_url: str, signer: Signer | None, stored: Callable[[str], Passage | None]
) -> Callable[[Evidence], str]:
    """Where a passage without an address of its own can be read, for one reply.

    That is its page under `base_url`; a passage that is not `stored` is of a document of the request and gets
    a name instead.
    """
    page = pages_of(base_url, signer, stored)

    def url(evidence: Evidence) -> str:
        passage = evidence.passage
        if address := page(passage.id, evidence.judgement.quote if evidence.judgement else None):
            return address
        place = f"#char={passage.start},{passage.end}" if passage.start else ""  # as in RFC 5147
        return f"urn:document:{quote(passage.document_id, safe='')}{place}"

    return url
