"""SelfCheckGPT's WikiBio passages with people's labels (CEG Table 1)."""
