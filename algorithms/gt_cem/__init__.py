"""Planning with the true dynamics by the cross-entropy method."""
