"""Data sets, samplers and loaders, under torch.utils.data's names."""

import typing as _typing

from adjoint.runtime.lazy import LateAttributes as _LateAttributes
from adjoint.runtime.lazy import by_name as _by_name

#: The file of each name.
_HELD = {
    "adjoint.utils.data.dataloader": "DataLoader default_collate default_convert get_worker_info",
    "adjoint.utils.data.dataset": """
        ChainDataset ConcatDataset Dataset IterableDataset StackDataset Subset TensorDataset random_split
    """,
    "adjoint.utils.data.sampler": """
        BatchSampler RandomSampler Sampler SequentialSampler SubsetRandomSampler WeightedRandomSampler
    """,
}

__getattr__ = _LateAttributes(__name__, dict.fromkeys(("dataloader", "dataset", "sampler"), "") | _by_name(_HELD))
__all__ = sorted(__getattr__.names())


def __dir__() -> list[str]:
    return list(__all__)
