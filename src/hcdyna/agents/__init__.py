"""Agents: how values are learned. One file an algorithm."""
