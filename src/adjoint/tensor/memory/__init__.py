"""Where the elements of tensors lie: storages, files, pinned memory."""
