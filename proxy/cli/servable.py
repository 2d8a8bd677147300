"""What the settings alone say: whether they can be served, and how an upstream is called."""

from __future__ import annotations

from proxy.config.presets import PRESETS
from proxy.config.settings import Settings
from proxy.config.settings import Upstream as UpstreamSettings
from proxy.engine.delivery import contradiction
from proxy.errors import ConfigError
from proxy.upstream.embedded.embedded_llm import DESCRIPTIONS
from proxy.upstream.endpoint import Endpoint
from proxy.upstream.provider import missing_keys


def require_servable(settings: Settings) -> None:
    """Raises `ConfigError` where the settings alone say that they can't be served: ways to stream and to
    correct that exclude each other, an upstream without its key."""
    _require_agreement(settings)
    for upstream in settings.upstreams:
        if upstream.model not in DESCRIPTIONS:
            require_key(upstream)


def _require_agreement(settings: Settings) -> None:
    """Raises `ConfigError` where the ways to stream and to correct that are configured exclude each other."""
    preset, streaming, regeneration = PRESETS[settings.preset], settings.streaming, settings.regeneration
    closed = settings.verification.fail_closed
    dropping = (regeneration.on_unsupported or preset.on_unsupported) == "drop"
    fail_closed = preset.fail_closed if closed is None else closed
    reasons = [
        contradiction(
            streaming.mode or preset.stream_mode,
            streaming.correction or "none",
            regeneration.on_unsupported or ("drop" if dropping else "keep"),
            fail_closed=fail_closed,
            rounds=regeneration.max_rounds,
            marked=bool(settings.citation.notice),
        ),
        *(
            contradiction(
                upstream.stream_mode, "none", "drop" if dropping else "keep", fail_closed=fail_closed
            )
            for upstream in settings.upstreams
            if upstream.stream_mode is not None
        ),
    ]
    for reason in reasons:
        if reason:
            raise ConfigError(
                f"preset, streaming, regeneration and verification contradict each other: {reason}.",
                param="streaming.mode",
            )


def require_key(upstream: UpstreamSettings) -> None:
    if keys := missing_keys(endpoint(upstream)):
        raise ConfigError(
            f"{upstream.model} needs a key: set {' and '.join(keys)}, give one with --api-key or "
            "upstreams.api_key, or set upstreams.client_key to call it with each client's own."
        )


def endpoint(upstream: UpstreamSettings) -> Endpoint:
    """Where an upstream is and how it is called."""
    return Endpoint(
        model=upstream.model,
        api_base=upstream.api_base,
        api_key=upstream.api_key.get_secret_value() if upstream.api_key else None,
        client_key=upstream.client_key,
        timeout=upstream.timeout,
        connect_timeout=upstream.connect_timeout,
        max_reply_bytes=upstream.max_reply_bytes,
        params=upstream.params,
    )
