"""Cause the same faults in Strata and in two pipelines that people would use instead."""
