"""The types of requests and responses: those of ``strata_types``, which the server uses, too."""

from strata_types import *
