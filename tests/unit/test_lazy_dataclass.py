"""Dataclasses that are completed when they are first used."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field, fields, is_dataclass, replace
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.runtime.lazy_dataclass import _LazyAttribute, dataclass


def family(decorator: Callable[..., Any]) -> tuple[type, type, type]:
    """Define the same three classes by one decorator."""

    @decorator(frozen=True)
    class Base:
        """Base class."""

        kind: ClassVar[str] = "base"
        number: int
        label: str = "none"

    @decorator(frozen=True, kw_only=True)
    class Derived(Base):
        """Derived class."""

        parts: list[int] = field(default_factory=list)

        def __post_init__(self) -> None:
            object.__setattr__(self, "label", self.label.upper())

    class Undecorated(Derived):
        """Class that inherits the methods."""

    return Base, Derived, Undecorated


def waits(cls: type) -> bool:
    """Return whether a class is incomplete."""
    return isinstance(vars(cls)["__dataclass_fields__"], _LazyAttribute)


def test_a_class_waits_for_its_first_use():
    base, derived, undecorated = family(dataclass)
    assert [*map(waits, (base, derived))] == [True, True]
    assert undecorated(1, parts=[2]).parts == [2]
    assert [*map(waits, (base, derived))] == [False, False]


@pytest.mark.parametrize("use", [fields, is_dataclass, inspect.signature, lambda cls: cls.__dataclass_params__])
def test_reading_the_fields_completes_a_class(use):
    base, derived, _ = family(dataclass)
    use(derived)
    assert [*map(waits, (base, derived))] == [False, False]


@given(st.integers(), st.text(max_size=3), st.integers(), st.text(max_size=3))
def test_a_class_behaves_as_one_of_the_standard_library(number, label, other, other_label):
    for lazy, plain in zip(family(dataclass), family(dataclasses.dataclass), strict=True):
        assert inspect.signature(lazy) == inspect.signature(plain)
        (one, two), (left, right) = (
            [cls(n, t) for n, t in ((number, label), (other, other_label))] for cls in (lazy, plain)
        )
        assert (one == two) == (left == right)
        assert repr(one) == repr(left)
        assert replace(one, number=other) == replace(one, number=other)
        assert [f.name for f in fields(one)] == [f.name for f in fields(left)]
        assert lazy.__match_args__ == plain.__match_args__
        with pytest.raises(FrozenInstanceError):
            one.number = 3


def test_wrong_arguments_are_refused():
    base, derived, _ = family(dataclass)
    for arguments in ((), (1, "a", 2)):
        with pytest.raises(TypeError):
            base(*arguments)
    with pytest.raises(TypeError, match="unknown"):
        derived(1, unknown=2)


@dataclass(frozen=True)
class Copied:
    """Class of instances that no ``__init__`` makes."""

    number: int = 0


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda made: pickle.loads(pickle.dumps(made))])
def test_copies_are_equal_to_their_originals(way):
    assert way(Copied(4)) == Copied(4)
    assert hash(way(Copied(4))) == hash(Copied(4))


def test_an_unpickled_instance_completes_its_class():
    """A process may receive an instance before it makes one."""

    @dataclass(frozen=True)
    class Received:
        """Class of an instance that is only received."""

        number: int

    one, two = (object.__reduce_ex__(Copied(4), 2)[0](Received) for _ in range(2))
    for made in (one, two):
        made.__dict__["number"] = 4
    assert one == two


def test_a_default_of_a_field_is_an_attribute_at_once():
    @dataclass
    class Given:
        """Class with a default in ``field``."""

        number: int = field(default=3, repr=False)

    assert Given.number == 3
