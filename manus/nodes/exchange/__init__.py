"""One exchange with the model: the request, the reply, and what follows from it."""
