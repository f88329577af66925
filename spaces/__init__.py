"""Chemical structures and images: kinds of node that have a vector space of their own, with their
embedding models and searches."""
