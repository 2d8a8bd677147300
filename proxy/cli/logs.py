"""How the server logs: as lines to read, or as one JSON object per line; each with the request's id."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime

from proxy.aio import ASKER
from proxy.config.settings import Settings

CHATTY = ("sentence_transformers", "httpx", "httpcore", "openai", "anthropic", "LiteLLM", "botocore", "bm25s")
"""Loggers that say too much; some of them repeat chats at the level `debug`."""


class Lines(logging.Formatter):
    """A readable line: time, level, logger, the id of the request, message."""

    def format(self, record: logging.LogRecord) -> str:
        """Implements `logging.Formatter`."""
        request = ASKER.get().request
        record.request = f" [{request}]" if request else ""
        return super().format(record)


class Objects(logging.Formatter):
    """A JSON object per line. What a log call gives as `facts` are fields of their own."""

    def format(self, record: logging.LogRecord) -> str:
        """Implements `logging.Formatter`."""
        told = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            **({"request": ASKER.get().request} if ASKER.get().request else {}),
            "message": record.getMessage(),
            **getattr(record, "facts", {}),
            **({"error": self.formatException(record.exc_info)} if record.exc_info else {}),
        }
        return json.dumps(told, default=str)


def set_up(settings: Settings) -> None:
    """Sets the logging of the process."""
    handler = logging.StreamHandler()
    lines = Lines("%(asctime)s %(levelname)s %(name)s%(request)s: %(message)s")
    handler.setFormatter(Objects() if settings.log.format == "json" else lines)
    logging.basicConfig(level=settings.server.log_level.upper(), handlers=[handler])
    for chatty in CHATTY:
        logging.getLogger(chatty).setLevel(logging.WARNING)
