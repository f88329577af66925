"""The one place that talks to a language model: any endpoint that speaks OpenAI's
``POST /chat/completions``, through LlamaIndex.

What is asked, and what becomes of the answers, is the callers'. LlamaIndex and its client
take seconds to import, so they are imported where they are first needed.
"""

from summaries.llm.model import Completion, LanguageModel, get_language_model, is_configured

__all__ = ["Completion", "LanguageModel", "get_language_model", "is_configured"]
