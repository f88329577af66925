"""The shapes of Strata's requests and answers, each defined once.

The server makes its OpenAPI document of them and the client returns them. They are TypedDicts,
because an answer is the server's JSON as it came, which may hold fields of newer servers. A string
below a field is its description.
"""

from strata_types.answers import *
from strata_types.audit import *
from strata_types.common import *
from strata_types.concepts import *
from strata_types.documents import *
from strata_types.edits import *
from strata_types.embeddings import *
from strata_types.evaluations import *
from strata_types.findings import *
from strata_types.indexes import *
from strata_types.keys import *
from strata_types.searches import *
from strata_types.sources import *
from strata_types.webhooks import *
