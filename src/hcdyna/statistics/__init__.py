"""What scores of many seeds say: summaries, comparisons and verdicts. Needs no JAX."""
