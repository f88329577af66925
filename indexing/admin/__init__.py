"""The admin of indexes, builds, nodes and regenerations."""

from indexing.admin import indexes, regenerations
