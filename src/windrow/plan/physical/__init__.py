"""How a plan is run: buffers and indexes of its state, stages and buckets, lives and ranks."""
