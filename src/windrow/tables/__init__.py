"""Tables in files: found, read with the numbers of their rows, fitted to types, and written.

``find_files`` says which files there are. ``readers`` is the door to what streams read (``csv``,
``jsonlines``, Parquet), and ``enforce`` gives rows their declared types by ``fit``. ``typed_files``
reads files of any Arrow type, and says the types of a file that nobody has declared; ``writers``
writes. The formats are listed in ``windrow.core.file_formats``.
"""
