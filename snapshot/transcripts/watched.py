"""Whether messages of a host are as they were when they were read, whatever may have changed in place.

Two ways tell. A `Watch` has all objects that messages are made of, at any depth: where each of them holds the
same objects as before, nothing has changed, since strings and numbers cannot; that is one quick pass. Else
what they say is compared, by its `digest`: of messages that were made anew, or parsed anew.
"""

from __future__ import annotations

import datetime
import decimal
import enum
import marshal
import uuid
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import chain, islice
from operator import attrgetter, is_
from typing import Any, TypeAlias, cast

from snapshot.transcripts.io.json_values import plain

__all__ = ["Block", "Dump", "HostList", "digest"]

Dump: TypeAlias = Callable[[Any], object]
"""Makes plain data of a host's own message."""

# Of `marshal`: floats by their bits, and nothing that depends on how often an object is referred to.
_VERSION = 2
_FIXED = frozenset(
    {
        str, int, float, bool, bytes, complex, type(None), type, datetime.date, datetime.datetime,
        datetime.time, datetime.timedelta, datetime.timezone, decimal.Decimal, uuid.UUID,
    }
)  # fmt: skip
# What LangChain's results hold beside their words; it is a program's own object, and is not dumped.
_UNSENT = "artifact"
_FIELDS, _VARIABLES = attrgetter("__pydantic_fields_set__"), attrgetter("__dict__")
_EXTRA, _PRIVATE = attrgetter("__pydantic_extra__"), attrgetter("__pydantic_private__")


class HostList(Sequence[Any]):
    """A framework's own messages, to be given wherever a list of an API's messages is taken.

    Each message is dumped once, and again only after something in it, at any depth, has become another
    object; `splice` gives the framework's objects.

    Args:
        messages: the list; objects of pydantic, dataclasses, dictionaries.
        dump: makes plain data of one message, of a format that `snapshot.from_messages` reads. It must look
            at nothing but the message.
    """

    def __init__(self, messages: Sequence[Any], dump: Dump) -> None:
        self.messages = messages
        self.dump = dump

    def __getitem__(self, at: Any) -> Any:
        return self.messages[at]

    def __len__(self) -> int:
        return len(self.messages)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.messages)

    def plain(self) -> list[object]:
        """All of it as plain data."""
        return [self.dump(message) for message in self.messages]


def digest(value: Any) -> bytes:
    """What tells plain data from other plain data: types, keys and their order.

    Raises:
        TypeError: there is something in it that is no plain data.
    """
    try:
        data = marshal.dumps(value, _VERSION)
    except ValueError:  # an object of an SDK, or of a class that is derived from a plain one
        data = marshal.dumps(_exact(plain(value)), _VERSION)
    return blake2b(data, digest_size=16).digest()


def _exact(value: object) -> Any:
    """Plain data of plain types alone."""
    if isinstance(value, dict):
        return {str(key): _exact(item) for key, item in cast("dict[Any, object]", value).items()}
    if isinstance(value, list):
        return [_exact(item) for item in cast("list[object]", value)]
    if type(value) in _FIXED:
        return value
    if isinstance(value, str):
        return type(value).__name__, str.__str__(value)
    return type(value).__name__, repr(value)


class Block:
    """Some of the messages of a list as they were, so few that looking at them thrice is no more than once.

    Attributes:
        said: the digest of each.
    """

    __slots__ = ("_items", "_watch", "said")

    def __init__(self, items: Sequence[object], said: Sequence[bytes]) -> None:
        self.said = list(said)
        self._items = list(items)
        self._watch: Watch | None = Watch(self._items)

    def is_untouched(self, items: Sequence[object]) -> bool:
        """Whether these are the messages, and all that they hold are the same objects."""
        return self._are(items) and self._watch is not None and self._watch.is_quiet()

    def see(self, items: Sequence[object]) -> None:
        """Take in messages that say the same. Those that come a second time are watched: a host that makes
        its messages anew for each call would never have them looked at again."""
        again = self._are(items)
        if again and self._watch is not None and self._watch.loose:
            return
        self._items = list(items)
        self._watch = Watch(self._items) if again else None

    def _are(self, items: Sequence[object]) -> bool:
        return len(items) == len(self._items) and all(map(is_, items, self._items))


class Watch:
    """All objects that values are made of, and what each held.

    Attributes:
        loose: whether there is one in them that may change unseen.
    """

    __slots__ = (
        "_dicts", "_entries", "_extras", "_fields", "_keys", "_lists", "_models", "_objects", "_plain",
        "_private", "_sizes", "_values", "_variables", "loose",
    )  # fmt: skip

    def __init__(self, values: Sequence[object]) -> None:
        self.loose = False
        self._dicts: list[dict[Any, Any]] = []
        self._lists: list[list[Any]] = []
        self._objects: list[Any] = []
        self._models: list[Any] = []
        known: set[int] = set()
        for value in values:
            self._walk(value, known)
        self._variables = list(map(_VARIABLES, self._objects))
        self._fields = list(map(frozenset, map(_FIELDS, self._models)))
        self._extras = list(map(_EXTRA, self._models))
        self._private = list(map(_PRIVATE, self._models))
        # Keys as well, but of objects: what they are dumped with has the names of their class's fields.
        self._keys = list(chain.from_iterable(self._dicts))
        self._plain = len(self._dicts)
        self._dicts += self._variables
        self._sizes = list(map(len, self._dicts)), list(map(len, self._lists))
        self._values = list(self._held())
        self._entries = list(chain.from_iterable(self._lists))

    def _held(self) -> Iterator[Any]:
        return chain.from_iterable(map(dict.values, self._dicts))

    def _walk(self, value: object, known: set[int]) -> None:
        kind = type(value)
        if kind in _FIXED:
            return
        if kind is tuple:
            for item in cast("tuple[object, ...]", value):
                self._walk(item, known)
            return
        if id(value) in known or isinstance(value, enum.Enum):
            return
        known.add(id(value))
        if kind is dict:
            table = cast("dict[Any, Any]", value)
            self._dicts.append(table)
            self.loose |= not all(type(key) is str for key in table)
            for item in table.values():
                if type(item) is not str:
                    self._walk(item, known)
        elif kind is list:
            items = cast("list[Any]", value)
            self._lists.append(items)
            for item in items:
                self._walk(item, known)
        elif made := _made_as(kind):
            self._walk_object(value, known, is_model=made == "model")
        else:
            self.loose = True

    def _walk_object(self, value: Any, known: set[int], *, is_model: bool) -> None:
        variables = value.__dict__
        self._objects.append(value)
        for name, item in variables.items():
            if type(item) is not str and name != _UNSENT:
                self._walk(item, known)
        if is_model:
            self._models.append(value)
            self._walk(_EXTRA(value), known)
            self._walk(_PRIVATE(value), known)

    def is_quiet(self) -> bool:
        """Whether nothing has changed since."""
        return (
            not self.loose
            and all(map(is_, map(_VARIABLES, self._objects), self._variables))
            and list(map(_FIELDS, self._models)) == self._fields
            and all(map(is_, map(_EXTRA, self._models), self._extras))
            and all(map(is_, map(_PRIVATE, self._models), self._private))
            and list(map(len, self._dicts)) == self._sizes[0]
            and list(map(len, self._lists)) == self._sizes[1]
            and list(chain.from_iterable(islice(self._dicts, self._plain))) == self._keys
            and all(map(is_, self._held(), self._values))
            and all(map(is_, chain.from_iterable(self._lists), self._entries))
        )


@lru_cache(maxsize=256)
def _made_as(kind: type) -> str:
    """Whether all that objects of a class hold is in their variables: "model" for pydantic's, "data" for
    dataclasses; "" where it may be elsewhere."""
    own = {"__dict__", "__weakref__"}
    is_model = hasattr(kind, "__pydantic_fields__") and hasattr(kind, "model_dump")
    if is_model:
        own |= {"__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__"}
    slots = {name for base in kind.__mro__ for name in _slots_of(base)}
    if not slots <= own or not kind.__dictoffset__ or issubclass(kind, dict | list | tuple | str):
        return ""
    return "model" if is_model else "data" if hasattr(kind, "__dataclass_fields__") else ""


def _slots_of(kind: type) -> Sequence[str]:
    slots = kind.__dict__.get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)
