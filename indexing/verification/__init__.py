"""Verifies that the ledger and the store of a build hold exactly what its documents require.

It goes slice by slice in the order of ids, so that memory stays bounded however large the index is,
and a verification in the background goes on after a kill.
"""

from indexing.verification.builds import (
    continue_verification,
    request_verification,
    save_error,
    verify_and_save_report,
    verify_build,
)
from indexing.verification.points import resolve_unconfirmed_writes
from indexing.verification.report import FINDINGS, VerificationReport
