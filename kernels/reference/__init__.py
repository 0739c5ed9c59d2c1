"""The numpy reference of every kernel: the specification that the other backends are held to."""
