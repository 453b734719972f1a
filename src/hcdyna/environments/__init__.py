"""The domains of the paper as pure functions of the observation. One file a domain."""
