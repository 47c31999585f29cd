"""MiniWoB++ pages, solved by scripts that see and do what the model can see and do."""
