"""What runs in tasks: blobs to the operators of a bucket and back, with their state."""
