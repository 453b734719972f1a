"""Gymnasium both ways: our domains there, and theirs here."""
