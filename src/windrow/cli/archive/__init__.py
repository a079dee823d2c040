"""``windrow archive``: making, filling, asking and keeping an archive from a terminal."""
