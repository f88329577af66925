from core.apps import StrataApp


class EvidenceConfig(StrataApp):
    name = "evidence"
    api_urls = "evidence.urls"
    tools = "evidence.agent_tools.TOOLS"
    exported = ["RecentEvidence", "EvidenceReference", "SimilarFindings"]
