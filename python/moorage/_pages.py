from __future__ import annotations

import json
from collections import OrderedDict
from typing import Any, Callable, Dict, Generic, Iterator, List, Mapping, Optional, TypeVar

T = TypeVar("T")

FOLLOWING_LIMIT = 100
#: How many of the last items are known.
MOST_KNOWN = 10_000
#: What items have in place of an id, if they have none.
NAMING_FIELDS = ("request_id", "call_id", "name", "user_id", "session_id", "provider", "model")


class Pages(Generic[T]):
    """A list of the service. Iterate it for every item of every page; `data` and `pagination` are its first page."""

    def __init__(self, load: Callable[[Dict[str, Any]], Dict[str, Any]], query: Mapping[str, Any]) -> None:
        self._load = load
        self._query = dict(query)
        self._loaded: Optional[Dict[str, Any]] = None

    @property
    def _first(self) -> Dict[str, Any]:
        if self._loaded is None:
            self._loaded = self._load(self._query)
        return self._loaded

    @property
    def data(self) -> List[T]:
        return self._first["data"]

    @property
    def pagination(self) -> Dict[str, Any]:
        return self._first["pagination"]

    def __iter__(self) -> Iterator[T]:
        page = self._first
        known: "OrderedDict[str, None]" = OrderedDict()
        wanted = dict(self._query)
        offset = wanted.get("offset", 0)
        while True:
            # Items that were created meanwhile push others onto later pages. None of them is given twice.
            names = [_id_of(item) for item in page["data"]]
            for item, name in zip(page["data"], names):
                if name is None or name not in known:
                    yield item
            about = page["pagination"]
            if about.get("next_after") is not None:
                if not about["has_more"]:
                    return
                page = self._load({**self._query, "after": about["next_after"]})
                continue
            # Counted here, with duplicates, so that the loop ends whatever the service says.
            searched_to = about.get("searched_to")
            length = len(page["data"])
            if about["has_more"] and searched_to is None:
                # An item that the service cannot read is left out of its page, and is counted there.
                length = max(about["limit"], length)
            offset += length
            if not about["has_more"] or length == 0 or offset >= about["total"]:
                bound = "start_time" if wanted.get("sort") == "timestamp" else "end_time"
                # A search stops after so many entries, and goes on from there with the next request.
                if searched_to is None or wanted.get(bound) == searched_to:
                    return
                wanted[bound] = searched_to
                offset = max(offset - about["total"], 0)
            for name in names:
                if name is not None:
                    known[name] = None
            while len(known) > MOST_KNOWN:
                known.popitem(last=False)
            page = self._load({"limit": FOLLOWING_LIMIT, **wanted, "offset": offset})


def _id_of(item: Any) -> Optional[str]:
    """Two items with the same text are the same thing. None for items that cannot be told apart, such as log entries."""
    if not isinstance(item, dict):
        return None
    if item.get("id") is not None:
        return json.dumps(item["id"])
    if item.get("timestamp") is not None:
        return None
    names = [item.get(field) for field in NAMING_FIELDS]
    return json.dumps(names) if any(name is not None for name in names) else None
