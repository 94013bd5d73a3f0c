"""How modules are called with hooks, and how classes of layers are made from declarations."""
