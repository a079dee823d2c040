"""What runs at the driver: sessions, jobs as streaming queries, and what is done when one dies."""
