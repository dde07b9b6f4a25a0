"""Planning with the true dynamics by random shooting."""
