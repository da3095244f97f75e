"""The overlays. Each is a package or module of its own and imports no other."""
