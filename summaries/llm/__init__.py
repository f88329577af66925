"""Client of language models: any endpoint that supports OpenAI's ``POST /chat/completions``, called
through LlamaIndex. No other package talks to a language model.

Callers supply prompts and interpret responses. LlamaIndex and its client take seconds to import,
so they are imported on first use.
"""

from summaries.llm.call_counts import ModelUse, counting_use
from summaries.llm.language_model import (
    Completion,
    LanguageModel,
    get_language_model,
    is_configured,
)
