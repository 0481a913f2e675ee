"""From lessons/ to notebooks/, solutions/ and the tables in README and docs."""
