"""How a tool call runs: its checks, its approval, its journal, its sandbox, its processes."""
