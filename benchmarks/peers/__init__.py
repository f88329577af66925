"""The same faults brought about in Strata and in two pipelines people would use instead."""
