"""A lock for imports that take seconds, such as LlamaIndex: one thread imports at a time.

Their packages import each other in circles. Where two threads would wait for each other, Python
lets one go on with the half that the other has begun, and that half lacks names.
"""

import threading

import_lock = threading.RLock()
