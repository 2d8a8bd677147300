"""What the operator lets a request choose."""

from __future__ import annotations

from proxy.config.settings import Settings
from proxy.engine.app_context import TOKEN_LIMITS, Model
from proxy.errors import RequestError
from proxy.openai_api.options import RequestOptions
from proxy.types import Json


def require_allowed(options: RequestOptions, settings: Settings) -> None:
    """Raises `RequestError` for an option of which a request may not choose that value."""
    configured = {
        "max_rounds": settings.regeneration.max_rounds or 0,
        "top_k": settings.retrieval.top_k,
        "deadline": settings.verification.deadline,
    }
    for name in sorted(options.model_fields_set):
        limit, value = getattr(settings.limits.options, name), getattr(options, name)
        where = f"limits.options.{name}"
        if limit is None or value is None:
            continue
        if limit == "fixed":
            raise RequestError(
                f"`vouch.{name}` can't be chosen here ({where}): leave it out.", param=f"vouch.{name}"
            )
        if isinstance(limit, tuple) and value not in limit:
            raise RequestError(
                f"`vouch.{name}` may be {' or '.join(limit)} here ({where}), not {value}.",
                param=f"vouch.{name}",
            )
        asked = len(value) if isinstance(value, tuple) else value
        if not isinstance(limit, tuple) and asked > (most := max(limit, configured.get(name, 0))):
            raise RequestError(
                f"`vouch.{name}` may be at most {most:g} here ({where}), not {asked:g}.",
                param=f"vouch.{name}",
            )


def within_limits(body: Json, model: Model, settings: Settings) -> Json:
    """The body, asking for as many tokens as the operator allows at most. Raises `RequestError` for too many
    choices."""
    for name in ("n", "best_of"):
        if isinstance(wanted := body.get(name), int) and wanted > settings.limits.choices:
            raise RequestError(
                f"`{name}` may be at most {settings.limits.choices} here (limits.choices), not {wanted}.",
                param=name,
            )
    if model.max_tokens is None or not any(name in body for name in TOKEN_LIMITS):
        return body
    parameter, most = model.max_tokens
    given = [body.get(name) for name in TOKEN_LIMITS]
    least = min([most, *(wanted for wanted in given if isinstance(wanted, int) and wanted > 0)])
    return {**{key: value for key, value in body.items() if key not in TOKEN_LIMITS}, parameter: least}
