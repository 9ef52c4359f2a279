"""What this machine's processor can do."""

import pytest
import torch

from clsviz.encoder import has_fast_bfloat16

needs_bfloat16 = pytest.mark.skipif(not has_fast_bfloat16(torch.device("cpu")), reason="this processor has no bfloat16")
