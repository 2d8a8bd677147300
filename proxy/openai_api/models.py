"""`/v1/models`: each upstream model and its unchecked alias."""

from __future__ import annotations

from collections.abc import Mapping

from proxy.engine.app_context import Model
from proxy.openai_api.chat.request import UNCHECKED
from proxy.openai_api.options import find_model
from proxy.types import Json

CREATED = 1_767_225_600
"""2026-01-01. OpenAI's schema requires the field; it means nothing here."""


def model_objects(models: Mapping[str, Model]) -> Json:
    """The list of all models."""
    data = [entry for model in models.values() for entry in (_checked(model), _unchecked(model))]
    return {"object": "list", "data": data}


def model_object(models: Mapping[str, Model], name: str) -> Json:
    """The model of that name, checked or unchecked."""
    model = find_model(models, name.removesuffix(UNCHECKED))
    return _unchecked(model) if name.endswith(UNCHECKED) else _checked(model)


def _checked(model: Model) -> Json:
    return _object(model.name, model.description or "Replies are checked and cited.")


def _unchecked(model: Model) -> Json:
    return _object(model.name + UNCHECKED, f"{model.name} as it is: replies are not checked.")


def _object(name: str, description: str) -> Json:
    return {
        "id": name,
        "object": "model",
        "created": CREATED,
        "owned_by": "vouch",
        "description": description,
    }
