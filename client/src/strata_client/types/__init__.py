"""The types of requests and responses, as in the server's OpenAPI document.

Responses are the server's unchanged JSON, which may hold fields of newer servers. Therefore these
are TypedDicts, not dataclasses or pydantic models.
"""

from strata_client.types.answers import *
from strata_client.types.concepts import *
from strata_client.types.documents import *
from strata_client.types.evidence import *
from strata_client.types.operations import *
from strata_client.types.searches import *
from strata_client.types.sources import *
