"""Search-control: from which states do we plan? One file a strategy."""
