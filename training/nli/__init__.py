"""The claim checker: reads (title + evidence, claim), says entailed, contradicted or neither."""
