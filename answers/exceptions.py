"""Exceptions of query pipelines."""

from core.exceptions import Unknown, Unprocessable


class UnknownPipeline(Unknown):
    """There is no query pipeline of this name."""

    code = "unknown_pipeline"


class InvalidPipeline(Unprocessable):
    """A query pipeline's file is not valid."""

    code = "invalid_pipeline"
    is_about_setup = True
