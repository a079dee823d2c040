"""What a script came to, for whoever carried it out."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from windrow.engine.handles import Handle
from windrow.engine.notebook_html import Plan, rows_html
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
        self, handles: Sequence[Handle], listings: Sequence[Listing], plans: Sequence[Plan]
    ) -> None:
        super().__init__(handles)
        self.listings, self.plans = list(listings), list(plans)

    @property
    def tables(self) -> list[pa.Table]:
        """What SHOW and DESCRIBE say."""
        return [table_of(listing) for listing in self.listings]

    def __repr__(self) -> str:
        shown = [table.to_pandas().to_string(index=False) for table in self.tables]
        handles = [super().__repr__()] if self or not (shown or self.plans) else []
        return "\n\n".join([*handles, *shown, *self.plans])

    def _repr_html_(self) -> str:
        tables = (
            rows_html(listing.headings, listing.rows, listing.title) for listing in self.listings
        )
        parts = [*(h._repr_html_() for h in self), *tables, *(p._repr_html_() for p in self.plans)]
        return "".join(parts)


def table_of(listing: Listing) -> pa.Table:
    """A listing as Arrow."""
    columns = [[row[i] for row in listing.rows] for i in range(len(listing.headings))]
    fields = [pa.field(heading, pa.string()) for heading in listing.headings]
    return pa.table(columns, schema=pa.schema(fields))
