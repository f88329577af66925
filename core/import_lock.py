"""Importing what takes seconds, such as LlamaIndex and Haystack: one thread at a time.

Their packages import each other in circles. Where two threads would wait for each other, Python
lets one go on with the half that the other has begun, and that half lacks names.
"""

import threading

importing = threading.RLock()
