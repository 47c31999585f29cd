"""The nodes of the graphs, each a small async function from state to update, and their helpers."""
