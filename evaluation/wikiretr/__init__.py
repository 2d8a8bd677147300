"""CEG's WikiRetr: agreement with people (Table 5) and recall of passages (Figure 3)."""
