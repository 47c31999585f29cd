"""Two instances of Aegra, and what becomes of their runs when one fails."""
