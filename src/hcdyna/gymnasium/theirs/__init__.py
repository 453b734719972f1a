"""Training on any Gymnasium environment: it is stepped on the host, and all learning is compiled.

Only the programs that move the agents differ from those of our own environments, so that runs,
checkpoints, evaluations and everything made from them are the same.
"""
