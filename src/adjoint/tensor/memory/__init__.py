"""The memory of tensors: storages, files, pinned memory."""
