"""MiniWoB++ pages, solved by scripts that see and do only what the model can see and do."""
