"""Records of failures and repairs."""
