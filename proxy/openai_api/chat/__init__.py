"""`/v1/chat/completions`: its request, its response, its stream."""
