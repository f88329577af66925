from core.apps import StrataApp


class EvidenceConfig(StrataApp):
    name = "evidence"
    api_urls = "evidence.urls"
    spec_sections = {"evidence": "evidence.spec.EvidenceSpec"}
    tools = "evidence.agent_tools.TOOLS"
    exported = ["RecentEvidence", "EvidenceReference", "SimilarFindings"]
