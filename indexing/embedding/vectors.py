"""The array type of embedding vectors."""

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
