"""The settings under `retrieval.milvus`: a Milvus server in the place of the index's own files."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, SecretStr

from proxy.config.checker_settings import Section

StoreName = Literal["faiss", "milvus"]


def _milvus_address(value: str) -> str:
    if not value.lower().startswith(("http://", "https://")) and not value.endswith(".db"):
        raise ValueError(
            "must be an address that begins with http:// or https://, or a file of Milvus Lite, *.db"
        )
    return value


CollectionName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,199}$")]


class Milvus(Section):
    """Where Milvus is, what it holds, and how long it is waited for."""

    uri: Annotated[str, AfterValidator(_milvus_address)] = "http://127.0.0.1:19530"
    token: SecretStr | None = None
    database: str = ""
    collection: CollectionName = "vouch"
    filter: str = Field("", max_length=10_000)
    filters: dict[str, str] = Field(default_factory=dict)
    timeout: float = Field(5.0, gt=0, le=600)
    retries: int = Field(1, ge=0, le=10)
    connections: int = Field(8, ge=1, le=256)
    open_after: int = Field(3, ge=1, le=1000)
    open_for: float = Field(10.0, gt=0, le=3600)
    grace: float = Field(30.0, ge=0, le=3600)
    index_type: str = "HNSW"
    index_params: dict[str, object] = Field({"M": 32, "efConstruction": 200})
    search_params: dict[str, object] = Field({"ef": 200})
