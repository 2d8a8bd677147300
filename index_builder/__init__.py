"""From documents to an index: readers, chunks, vectors, index. Never imported by the proxy itself."""
