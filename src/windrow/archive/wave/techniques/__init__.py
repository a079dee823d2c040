"""How operations on constituents are carried out over immutable runs."""
