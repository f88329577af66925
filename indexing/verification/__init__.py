"""Verifies that the ledger and the store of a build hold exactly what its documents require.

It goes slice by slice in the order of ids, so that memory stays bounded however large the index is.
"""

from indexing.verification.builds import verify_build
from indexing.verification.release import find_release_differences
from indexing.verification.report import FINDINGS, VerificationReport
