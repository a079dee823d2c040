"""What comes in: files and inboxes as Spark's sources, admitted in order and packed into blobs."""
