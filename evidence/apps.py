from core.apps import StrataApp


class EvidenceConfig(StrataApp):
    name = "evidence"
    api_urls = "evidence.urls"
    exported = ["RecentEvidence", "EvidenceReference", "SimilarFindings"]
