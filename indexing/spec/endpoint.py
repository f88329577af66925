"""``EndpointSpec``: an endpoint for embeddings, by which several can stand side by side."""

import os
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator

from indexing.exceptions import ModelUnavailable


def check_address(address: str) -> str:
    """
    Raises:
        ValueError: it is no address that a client of HTTP can be given.
    """
    try:
        url = urlsplit(address)
        is_valid = url.scheme in {"http", "https"} and url.hostname and "@" not in url.netloc
    except ValueError:
        is_valid = False
    if not is_valid:
        raise ValueError("give an http or https address, without a user name or password")
    return address


def read_api_key(variable: str, setting: str) -> str:
    """The key in an environment variable that ``setting`` names; empty if it names none.

    Raises:
        ModelUnavailable: the variable is not set.
    """
    key = os.environ.get(variable, "").strip() if variable else ""
    if variable and not key:
        raise ModelUnavailable(
            f"The environment variable {variable}, which {setting} names, is not set.",
            field=setting,
            fix=f"Set {variable} for every process of the service, and restart it.",
        )
    return key


class EndpointSpec(BaseModel):
    """Where and how ``provider: openai`` asks for vectors; left out, the endpoint of the settings.

    The parameters are sent in the body of every request, or only in those for stored texts or for
    queries; null leaves one out.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    base_url: str
    api_key_variable: str = Field("", pattern=r"^([A-Za-z_][A-Za-z0-9_]*)?$")  # empty: no key
    tokenizer: str = "cl100k"  # or "characters", or the path of a tokenizer.json
    batch_texts: int = Field(128, ge=1, le=2_048)
    parameters: dict[str, JsonValue] = Field(default_factory=dict)
    document_parameters: dict[str, JsonValue] = Field(default_factory=dict)
    query_parameters: dict[str, JsonValue] = Field(default_factory=dict)

    def __hash__(self) -> int:
        return hash(self.model_dump_json())

    @field_validator("base_url")
    @classmethod
    def _check_base_url(cls, base_url: str) -> str:
        return check_address(base_url)

    @field_validator("tokenizer")
    @classmethod
    def _check_tokenizer(cls, tokenizer: str) -> str:
        if tokenizer not in {"cl100k", "characters"} and not tokenizer.endswith(".json"):
            raise ValueError("allowed here: cl100k, characters, or the path of a tokenizer.json")
        return tokenizer

    @field_validator("parameters", "document_parameters", "query_parameters")
    @classmethod
    def _check_parameters(cls, parameters: dict[str, JsonValue]) -> dict[str, JsonValue]:
        if taken := {"model", "input"} & parameters.keys():
            raise ValueError(f"{min(taken)!r} is set by the service")
        if parameters.get("encoding_format") not in {None, "float", "base64"}:
            raise ValueError("encoding_format: allowed here: float, base64, null")
        return parameters

    @property
    def vector_settings(self) -> list[dict[str, JsonValue]]:
        """What changes the vectors: neither the address nor how texts are counted and batched."""
        return [self.parameters, self.document_parameters, self.query_parameters]
