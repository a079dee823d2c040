"""What goes out: results written by tasks, published by the commit of a micro-batch."""
