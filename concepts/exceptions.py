"""Errors about concepts, quotes, relationships and emergent pairs."""

from core.exceptions import Conflict, InvalidInput, Unknown


class UnknownConcept(Unknown):
    """There is no concept with this id."""

    code = "unknown_concept"


class UnknownQuote(Unknown):
    """There is no quote with this id."""

    code = "unknown_instance"


class UnknownRelationshipType(Unknown):
    """There is no relationship type with this id."""

    code = "unknown_relationship_type"


class UnknownRelationship(Unknown):
    """There is no relationship with this id."""

    code = "unknown_relationship"


class UnknownEmergentPair(Unknown):
    """There is no emergent pair with this id."""

    code = "unknown_pair"


class QuoteNotFound(InvalidInput):
    """The quote does not appear in the given source or document."""

    code = "quote_not_found"


class HiddenRelationships(Conflict):
    """Relationships that you may not see would be changed or deleted with it."""

    code = "hidden_relationships"
