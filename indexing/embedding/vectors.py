"""The type of vectors that models give."""

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
