"""`/v1/models`: each upstream model, its name with profiles behind it, and its unchecked alias."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from proxy.engine.app_context import Model
from proxy.openai_api.chat.request import UNCHECKED
from proxy.openai_api.options import find_model
from proxy.openai_api.profiles import named, split_alias
from proxy.types import Json, ProfileName

CREATED = 1_767_225_600
"""2026-01-01. OpenAI's schema requires the field; it means nothing here."""


def model_objects(
    models: Mapping[str, Model], profiles: Sequence[ProfileName] = (), *, unchecked: bool = True
) -> Json:
    """The list of all models: checked, in each of the `profiles`, and, where that is wanted, `unchecked`."""
    data = [entry for model in models.values() for entry in _entries(model, profiles, unchecked)]
    return {"object": "list", "data": data}


def model_object(models: Mapping[str, Model], name: str) -> Json:
    """The model of that name: checked, perhaps in a profile, or unchecked."""
    bare, profile = split_alias(name)
    model = find_model(models, bare.removesuffix(UNCHECKED))
    if bare.endswith(UNCHECKED):
        return _unchecked(model)
    return _checked(model) if profile is None else _in_profile(model, profile)


def _entries(model: Model, profiles: Sequence[ProfileName], unchecked: bool) -> Iterator[Json]:
    yield _checked(model)
    for profile in profiles:
        yield _in_profile(model, profile)
    if unchecked:
        yield _unchecked(model)


def _checked(model: Model) -> Json:
    return _object(model.name, model.description or "Replies are checked and cited.")


def _in_profile(model: Model, profile: ProfileName) -> Json:
    description = f"{model.name}, in the profile {profile}."
    return _object(named(model.name, profile), description)


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
