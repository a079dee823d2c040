"""What a script came to, for whoever carried it out."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from windrow.engine.handles import Handle
from windrow.plan.listing import Listing


class Executed(list[Handle]):
    """The queries of a script, in order; what it asked to be shown beside them.

    >>> import windrow
    >>> db = windrow.connect()
    >>> done = db.execute("CREATE STREAM hits (ts BIGINT, page STRING); SHOW STREAMS;")
    >>> len(done), done.tables[0].to_pylist()[0]["columns"]
    (0, 'ts BIGINT, page STRING')
    """

    def __init__(
        self, handles: Sequence[Handle], tables: Sequence[pa.Table], plans: Sequence[str]
    ) -> None:
        super().__init__(handles)
        self.tables, self.plans = list(tables), list(plans)
        """What SHOW and DESCRIBE say, and the plans of EXPLAIN."""


def table_of(listing: Listing) -> pa.Table:
    """A listing as Arrow, with its title among the schema's metadata."""
    columns = [[row[i] for row in listing.rows] for i in range(len(listing.headings))]
    fields = [pa.field(heading, pa.string()) for heading in listing.headings]
    schema = pa.schema(fields, {"title": listing.title})
    return pa.table([pa.array(column, pa.string()) for column in columns], schema=schema)
