"""What training leaves behind: kept, read again, and used."""
