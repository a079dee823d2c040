"""Which predicates of a group share a store, and what is read of the stores then.

Predicates with sub-windows of one length that are kept for about as long are in one store, unless
something is kept of them value by value. The plan does not say so: an operator goes on with the
stores that it has, those of a checkpoint included, and what comes later gets stores of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from windrow.columns.arrays import Bools, Int64s
from windrow.operators.aggregates.count_sum_avg import Sum
from windrow.operators.aggregates.shared_reads import Form, Probe, Source
from windrow.operators.state.predicate_store import PredicateStore
from windrow.operators.summarise_rows import SummaryBundle

Together = tuple[tuple[int, ...], ...]
"""The numbers of the predicates in each store."""


@dataclass(frozen=True)
class StoreReaders:
    """The probes of a store, and the places of the predicates that they are of."""

    probes: Int64s
    places: Int64s


@dataclass(frozen=True)
class Arrangement:
    """See the module. ``columns`` has for each store and place which integers of a summary that
    comes are those of the store's; -1 are zeros. ``folding`` summarises rows for those stores that
    are of several predicates."""

    together: Together
    stores: tuple[PredicateStore, ...]
    columns: tuple[Int64s, ...]
    sources: tuple[Source, ...]
    forms: tuple[Form, ...]
    sums: tuple[Sum, ...]
    folding: tuple[SummaryBundle, ...] = ()

    @cached_property
    def homes(self) -> dict[int, tuple[int, int]]:
        """The store of each predicate, and its place there."""
        return {
            number: (store, place)
            for store, numbers in enumerate(self.together)
            for place, number in enumerate(numbers)
        }

    @cached_property
    def store_of(self) -> Int64s:
        return np.array([self.homes[n][0] for n in range(len(self.homes))], np.int64)

    @cached_property
    def place_of(self) -> Int64s:
        return np.array([self.homes[n][1] for n in range(len(self.homes))], np.int64)

    @cached_property
    def is_alone(self) -> Bools:
        """Whether predicates have stores of their own."""
        alone = np.array([store.pairs is None for store in self.stores], np.bool_)
        found: Bools = alone[self.store_of]
        return found

    def readers(self, probes: tuple[Probe, ...]) -> list[StoreReaders]:
        """Of each store."""
        found: list[list[tuple[int, int]]] = [[] for _ in self.stores]
        for probe, asked in enumerate(probes):
            for predicate in asked.predicates:
                store, place = self.homes[predicate]
                found[store].append((probe, place))
        arrays = (np.array(pairs, np.int64).reshape(-1, 2).T for pairs in found)
        return [StoreReaders(*np.ascontiguousarray(pairs)) for pairs in arrays]

    def take_in(self, predicate: Int64s, group: Int64s, ts: Int64s, table: Int64s) -> None:
        """Merge summaries, in the order of time, into the stores of several predicates; the last
        column of ``table`` is zeros."""
        of = self.store_of[predicate]
        for number, store in enumerate(self.stores):
            if store.pairs is None:
                continue
            rows = np.flatnonzero(of == number)
            if len(rows):
                place = self.place_of[predicate[rows]]
                own = table[rows[:, np.newaxis], self.columns[number][place]]
                store.merge(store.codes_of(place, group[rows]), ts[rows], own)
