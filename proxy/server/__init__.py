"""HTTP and nothing else: routes, middleware, limits."""
