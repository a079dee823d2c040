"""What a query may see: windows as sub-windows, updates and queries as transactions.

A window moves while queries scan it (Golab 2006, chapter 7). In the order in which a query walks:
``stored_windows`` is what is read, ``scheduler`` says what every scheduler does, ``serial``,
``window_serial``, ``latest_window`` and ``time_to_update`` are the schedulers,
``executor`` runs queries in threads, ``history`` and ``isolation`` say afterwards what they saw.
"""
