"""A lock for imports that take seconds, such as LlamaIndex: one thread imports at a time.

These packages have circular imports. To prevent a deadlock of two importing threads, Python gives
one of them a partly initialized module, which lacks names.
"""

import threading

import_lock = threading.RLock()
