"""What a plan costs per second: joins of n windows (Golab 2006, 5.3), then whole plans (3.5.3)."""
