"""The adapters of array libraries: each library's functions under one set of names."""
