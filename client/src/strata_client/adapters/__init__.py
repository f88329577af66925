"""Retrievers of other frameworks that search Strata over HTTP: one module for each framework, which
imports it. Importing this package imports none of them.

    strata_client.adapters.langchain    pip install 'strata-client[langchain]'
    strata_client.adapters.llama_index  pip install 'strata-client[llama-index]'
    strata_client.adapters.haystack     pip install 'strata-client[haystack]'
"""
