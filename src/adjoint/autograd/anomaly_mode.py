"""Finding the operation whose gradient failed."""

from adjoint.core.modes.anomaly import detect_anomaly, set_detect_anomaly
from adjoint.core.modes.finite import watch_forward

__all__ = ["detect_anomaly", "set_detect_anomaly", "watch_forward"]
