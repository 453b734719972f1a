"""Search-control in Dyna: plan from better states."""
