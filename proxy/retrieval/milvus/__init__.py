"""An index in Milvus: `retrieval.store: milvus`. Its library is imported only when a `Connection` is made."""
