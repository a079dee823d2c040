"""Places in an object store (``s3://bucket/path``): the client, its errors, and local copies."""
