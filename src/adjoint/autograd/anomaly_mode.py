"""Finding the operation whose gradient failed."""

from adjoint.core.anomaly import detect_anomaly, set_detect_anomaly

__all__ = ["detect_anomaly", "set_detect_anomaly"]
