"""What every section of the settings is made of."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """Frozen, and no key that we don't know."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)
