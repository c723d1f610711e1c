"""A privacy budget as a value: exact, never negative, and impossible to overspend unnoticed.

A budget is one of three things:

- ε, pure differential privacy: ``Budget(epsilon=1.0)``;
- (ε, δ), approximate differential privacy: ``Budget(epsilon=1.0, delta=1e-9)``;
- ρ, zero-concentrated differential privacy: ``Budget.zcdp(0.1)``.

Amounts are exact fractions inside. A float is read as the decimal number that it prints as (0.1 is one tenth), so ten
times 0.1 is 1 and 0.1 + 0.2 can be spent from 0.3. Read-outs (`Budget.epsilon` and so on) are floats that, read again,
never say more than the budget holds. The float itself may differ from its decimal by one part in 10¹⁶, and so a stated
amount is true to sixteen digits.

Costs add, also when a later one depends on earlier answers. ε and ρ are different currencies: they are added only after
an explicit conversion (`Budget.to_zcdp`, `Budget.to_approximate`, `Budget.largest_zcdp`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Integral
from typing import Any, Literal, TypeAlias

from shoal.dp import zcdp
from shoal.errors import GuaranteeError, ParameterError

__all__ = ["Amount", "Budget", "Definition"]

Amount: TypeAlias = int | float | Fraction | Decimal
Definition = Literal["pure", "approximate", "zcdp"]


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Budget:
    """How much privacy may be spent, or has been.

    Parameters
    ----------
    epsilon
        Privacy loss: any output is at most e^ε times likelier with one person's data than without. Raising it means
        less privacy.
    delta
        Probability mass on which ε may fail; 0 is pure differential privacy. Choose it far below 1 / (number of
        persons).

    Notes
    -----
    Frozen, hashable, comparable by value; costs nothing to make. ``a + b`` adds, ``a - b`` subtracts and raises a
    `GuaranteeError` where `a` does not cover `b`, ``n * a`` is the price of doing something n times.

    Examples
    --------
    >>> import shoal.dp
    >>> limit = shoal.dp.Budget(epsilon=0.3)
    >>> print(limit - shoal.dp.Budget(epsilon=0.1) - shoal.dp.Budget(epsilon=0.2))
    ε = 0
    >>> [str(part) for part in shoal.dp.Budget(epsilon=1, delta=1e-9).split([3, 1])]
    ['ε = 0.75, δ = 7.5e-10', 'ε = 0.25, δ = 2.5e-10']
    >>> print(shoal.dp.Budget(epsilon=1, delta=1e-9).largest_zcdp())
    ρ = 0.0149731 (zCDP)
    """

    definition: Definition
    _amount: Fraction
    _delta: Fraction

    def __init__(self, *, epsilon: Amount, delta: Amount = 0) -> None:
        amount, failure = _exact("epsilon", epsilon), _exact("delta", delta)
        if failure >= 1:
            raise ParameterError("Budget", "delta must be less than 1", got=f"{float(failure):.6g}")
        self._store("approximate" if failure else "pure", amount, failure)

    @classmethod
    def zcdp(cls, rho: Amount) -> Budget:
        """A budget of `rho` in zero-concentrated differential privacy."""
        return _made("zcdp", _exact("rho", rho))

    @property
    def epsilon(self) -> float:
        """ε, never read out larger than it is; a ρ budget has none (see `to_approximate`)."""
        if self.definition == "zcdp":
            raise ParameterError("Budget", "a zCDP budget has no epsilon", hint="Use to_approximate(delta).epsilon.")
        return _read_out(self._amount)

    @property
    def delta(self) -> float:
        """δ; 0 for a pure budget, and for a ρ budget, which promises nothing by δ."""
        return _read_out(self._delta)

    @property
    def rho(self) -> float:
        """ρ, never read out larger than it is; only a zCDP budget has one."""
        if self.definition != "zcdp":
            raise ParameterError("Budget", "only a zCDP budget has rho", hint="Use to_zcdp() or largest_zcdp().")
        return _read_out(self._amount)

    @property
    def exact(self) -> tuple[Fraction, Fraction]:
        """(ε or ρ, δ) as exact fractions."""
        return self._amount, self._delta

    @property
    def empty(self) -> bool:
        """Whether nothing is in it."""
        return self._amount == 0 and self._delta == 0

    def __add__(self, other: Budget) -> Budget:
        self._check_currency(other)
        return _made(_joint(self, other), self._amount + other._amount, self._delta + other._delta)

    def __sub__(self, other: Budget) -> Budget:
        if not self.covers(other):
            raise GuaranteeError(
                "Budget",
                "the cost must not exceed what is left",
                got=f"{other} to spend of {self}",
                hint="Nothing was spent.",
            )
        return _made(_joint(self, other), self._amount - other._amount, self._delta - other._delta)

    def __mul__(self, times: Amount) -> Budget:
        factor = _exact("the factor", times)
        return _made(self.definition, self._amount * factor, self._delta * factor)

    __rmul__ = __mul__

    def covers(self, other: Budget) -> bool:
        """Whether `other` can be spent from this; a ρ budget is compared with a ρ budget only."""
        self._check_currency(other)
        return other._amount <= self._amount and other._delta <= self._delta

    def split(self, shares: int | Sequence[Amount]) -> tuple[Budget, ...]:
        """Cut into parts that add up to exactly this.

        Parameters
        ----------
        shares
            A number of equal parts, or one weight a part (any scale; 0 gives an empty part).
        """
        weights = _weights(shares)
        total = sum(weights)
        return tuple(self * (weight / total) for weight in weights)

    def to_zcdp(self) -> Budget:
        """What a pure mechanism of this price costs in ρ: ε-DP is (ε² / 2)-zCDP."""
        if self.definition == "approximate":
            raise ParameterError("Budget", "a cost with delta can't be expressed in rho", hint="See largest_zcdp().")
        return self if self.definition == "zcdp" else Budget.zcdp(self._amount**2 / 2)

    def to_approximate(self, delta: Amount) -> Budget:
        """What a cost in ρ is in (ε, δ) at the wanted `delta`: the tight conversion, rounded upwards."""
        if self.definition != "zcdp":
            raise ParameterError("Budget", "only a zCDP budget can be converted to (epsilon, delta)")
        failure = _exact("delta", delta)
        if not 0 < failure < 1:
            raise ParameterError("Budget", "delta must be greater than 0 and less than 1", got=repr(delta)[:60])
        return Budget(epsilon=zcdp.epsilon_for(self._amount, failure), delta=failure)

    def largest_zcdp(self) -> Budget:
        """The largest ρ that may be spent under this (ε, δ), rounded downwards; needs a delta above 0."""
        if self.definition == "zcdp":
            return self
        if self.definition == "pure":
            raise ParameterError("Budget", "a pure epsilon allows no rho", hint="Give a delta above 0.")
        return Budget.zcdp(zcdp.rho_for(self._amount, self._delta)[0])

    def to_dict(self) -> dict[str, Any]:
        """The budget as JSON-safe words; amounts that no float holds are written as ``"1/3"``."""
        if self.definition == "zcdp":
            return {"rho": _word(self._amount)}
        return {"epsilon": _word(self._amount), "delta": _word(self._delta)}

    @classmethod
    def from_dict(cls, words: Mapping[str, Any]) -> Budget:
        """Read a budget back from its words, exactly."""
        if not isinstance(words, Mapping) or set(words) not in ({"rho"}, {"epsilon"}, {"epsilon", "delta"}):
            raise ParameterError("Budget", "words must be rho, or epsilon and delta")
        read = {name: _unword(name, word) for name, word in words.items()}
        return cls.zcdp(read["rho"]) if "rho" in read else cls(**read)

    def __str__(self) -> str:
        if self.definition == "zcdp":
            return f"ρ = {float(self._amount):.6g} (zCDP)"
        tail = f", δ = {float(self._delta):.6g}" if self._delta else ""
        return f"ε = {float(self._amount):.6g}{tail}"

    def __repr__(self) -> str:
        if self.definition == "zcdp":
            return f"Budget.zcdp({_source(self._amount)})"
        tail = f", delta={_source(self._delta)}" if self._delta else ""
        return f"Budget(epsilon={_source(self._amount)}{tail})"

    def _store(self, definition: Definition, amount: Fraction, delta: Fraction) -> None:
        for name, value in (("definition", definition), ("_amount", amount), ("_delta", delta)):
            object.__setattr__(self, name, value)

    def _check_currency(self, other: Budget) -> None:
        if not isinstance(other, Budget):
            raise ParameterError(
                "Budget", "only budgets can be compared, added and subtracted", got=type(other).__name__
            )
        if (self.definition == "zcdp") != (other.definition == "zcdp"):
            hint = "Convert one: to_zcdp(), to_approximate(delta) or largest_zcdp()."
            raise ParameterError("Budget", "epsilon and rho must not be mixed", got=f"{self} and {other}", hint=hint)


def _made(definition: Definition, amount: Fraction, delta: Fraction = Fraction(0)) -> Budget:
    if definition != "zcdp":
        return Budget(epsilon=amount, delta=delta)
    budget = object.__new__(Budget)
    budget._store(definition, _exact("rho", amount), delta)
    return budget


def _joint(one: Budget, other: Budget) -> Definition:
    return "zcdp" if one.definition == other.definition == "zcdp" else "approximate"


def _exact(name: str, value: Amount) -> Fraction:
    """The number as a person wrote it: a float is the decimal that it prints as."""
    try:
        if isinstance(value, bool) or not math.isfinite(value) or value < 0:
            raise ValueError
        if isinstance(value, Fraction | Decimal):
            return Fraction(value)
        return Fraction(int(value)) if isinstance(value, Integral) else Fraction(repr(float(value)))
    except (TypeError, ValueError, OverflowError):
        rule = f"{name} must be a finite number of at least 0"
        raise ParameterError("Budget", rule, got=repr(value)[:60]) from None


def _read_out(amount: Fraction) -> float:
    nearest = float(amount)
    return nearest if Fraction(repr(nearest)) <= amount else math.nextafter(nearest, 0.0)


def _weights(shares: int | Sequence[Amount]) -> list[Fraction]:
    if isinstance(shares, Integral):
        weights = [Fraction(1)] * int(shares)
    else:
        weights = [_exact("a share", share) for share in shares]  # type: ignore[union-attr]
    if not any(weights):
        raise ParameterError("Budget", "shares must be a whole number from 1, or weights with one above 0")
    return weights


def _word(amount: Fraction) -> float | str:
    value = float(amount)
    return value if Fraction(repr(value)) == amount else f"{amount.numerator}/{amount.denominator}"


def _source(amount: Fraction) -> str:
    return repr(amount) if isinstance(_word(amount), str) else repr(float(amount))


def _unword(name: str, word: object) -> Amount:
    if not isinstance(word, str):
        return word  # type: ignore[return-value]
    try:
        return Fraction(word)
    except (ValueError, ZeroDivisionError):
        raise ParameterError("Budget", f"{name} must be a number or a fraction such as '1/3'") from None
