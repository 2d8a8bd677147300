"""FELM's world knowledge with CEG's retrieved passages (CEG Tables 2 and 4)."""
