from .encoder import Encoder
from .errors import ClsvizError
from .experiment import Experiment
from .measuring import Store
from .settings import Pooling
from .statistics import fit

__all__ = ["ClsvizError", "Encoder", "Experiment", "Pooling", "Store", "fit"]
