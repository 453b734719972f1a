"""What programs and files are made of: it knows nothing of Dyna."""
