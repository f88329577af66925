"""Strata's errors in the form of OpenAI, and the views that answer in it."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, TypeVar

from pydantic import AfterValidator, BaseModel, ValidationError
from pydantic_core import PydanticCustomError
from rest_framework.response import Response
from rest_framework.views import APIView

from access.authentication import ApiKeyAuthentication
from access.grants import Scope
from core.exceptions import InvalidInput
from core.http_formats import IgnoreAcceptHeader
from core.text import is_storable

Body = TypeVar("Body", bound=BaseModel)

# Status -> type of the error; 400 and those not listed: the request is wrong.
ERROR_TYPES: Final = {403: "permission_error", 429: "rate_limit_error"}
CODES: Final = {"unknown_key": "invalid_api_key"}  # others are Strata's own
MAX_ALLOWED: Final = 30  # names that a message lists


def describe(content: Mapping[str, Any]) -> str:
    """An error of the API in one text: what is wrong, what is allowed, and what to do."""
    parts = [content["detail"]]
    if allowed := content.get("allowed"):
        more = ["…"] if len(allowed) > MAX_ALLOWED else []
        parts.append(f"Allowed: {', '.join([*allowed[:MAX_ALLOWED], *more])}.")
    return " ".join([*parts, *filter(None, [content.get("fix")])])


def make_openai_error(
    status: int, content: Mapping[str, Any], params: Mapping[str, str]
) -> dict[str, Any]:
    """``content``: an error of the API. ``params``: its field -> the parameter of OpenAI."""
    kind = "server_error" if status >= 500 else ERROR_TYPES.get(status, "invalid_request_error")
    field = content.get("field")
    if field is not None:
        first, dot, rest = field.partition(".")
        field = f"{params[first]}{dot}{rest}" if first in params else field
    code = CODES.get(content["code"], content["code"])
    return {"error": {"message": describe(content), "type": kind, "param": field, "code": code}}


def _require_storable(text: str) -> str:
    if not is_storable(text):
        raise PydanticCustomError("name", "It has characters that no name has")
    return text


Name = Annotated[str, AfterValidator(_require_storable)]


def as_list(value: Any) -> Any:
    """A list where a single text may be given."""
    return [value] if isinstance(value, str) else value


def read_body(model: type[Body], data: Any) -> Body:
    """Raises ``InvalidInput``: names the first wrong field."""
    if not isinstance(data, Mapping):
        raise InvalidInput("The body must be a JSON object.")
    try:
        return model.model_validate(data)
    except ValidationError as error:
        [first, *_] = error.errors(include_url=False, include_context=False, include_input=False)
        name = ".".join(str(part) for part in first["loc"]) or None
        raise InvalidInput(f"{name or 'The body'}: {first['msg']}.", field=name) from None


class GuestView(APIView):
    """A view for programs that send a key. Its shape is published by others, so that it is not in
    the OpenAPI document."""

    scopes = Scope.SEARCH
    authentication_classes = [ApiKeyAuthentication]  # not the session of a browser
    content_negotiation_class = IgnoreAcceptHeader
    schema = None


class OpenAiView(GuestView):
    """Answers errors in the form of OpenAI. ``params`` as of ``make_openai_error``."""

    params: Mapping[str, str] = {}

    def handle_exception(self, exc: Exception) -> Response:
        response = super().handle_exception(exc)
        response.data = make_openai_error(response.status_code, response.data, self.params)
        return response
