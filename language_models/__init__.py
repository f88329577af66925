"""Calls of language models, and their prompts. No other package talks to a language model.

Callers supply prompts and interpret responses. Any endpoint is used that supports OpenAI's
``POST /chat/completions``, through LlamaIndex. LlamaIndex and its client take seconds to import,
so they are imported on first use.
"""
