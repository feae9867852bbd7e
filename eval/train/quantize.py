"""From an fp32 graph to int8."""

from __future__ import annotations

import logging
from pathlib import Path


def quantize(source: Path, target: Path) -> None:
    """Write a graph with int8 weights (a scale a channel); activations as they come."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    logging.disable(logging.WARNING)  # it advises a step that changes nothing here
    try:
        quantize_dynamic(str(source), str(target), weight_type=QuantType.QInt8, per_channel=True)
    finally:
        logging.disable(logging.NOTSET)
