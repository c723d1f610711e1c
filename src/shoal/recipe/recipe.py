"""A recipe: how a release is made, in words that a file, a command line and a person can share.

There is one `Recipe` with one verb, `run`, and three kinds behind it: a grouper with a chain of masks
(`Anonymization`), a chain of coarseners (`Coarsening`), and a synthesizer (`Synthesis`). Whatever differs between them
is a property here, so that nobody has to ask which kind it is. They are read by `shoal.recipe.read` and spelled by
`shoal.recipe.spell`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from shoal.arrays import FloatArray, IntArray
from shoal.claim import Claim
from shoal.conform import Prepared
from shoal.errors import ParameterError
from shoal.fact import Fact, Step
from shoal.frame import Frame, with_columns
from shoal.method import Family, Method, methods
from shoal.params import check, to_dict
from shoal.recipe.spell import short, spell
from shoal.rng import secret
from shoal.schema import Column, Schema

if TYPE_CHECKING:
    from shoal.dp import Budget, Spending
    from shoal.pseudonym import Pseudonyms
    from shoal.recipe.linked import Linked
    from shoal.recipe.paid_model import PaidModel
    from shoal.synth import Model, Price

__all__ = [
    "FAMILIES",
    "Made",
    "Progress",
    "ReadMethod",
    "Recipe",
    "Run",
    "checked_methods",
    "method_words",
    "offer",
    "quiet",
]

Progress = Callable[[str], None]
FAMILIES = ("blind masks", "aware masks", "coarsening", "synthesis")
"""What a comparison tells apart: blind masks carry a proved bound, aware ones are measured only."""
ReadMethod = Callable[[Family, Any], Any]
"""Reads the words of one method of a family."""


def quiet(step: str) -> None:
    """Say nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What a run of a recipe depends on besides the table, the schema and the recipe.

    Parameters
    ----------
    seed, key
        The seed of what repeats, and the secret key of who gets which row and of the order of the rows.
    seeded
        Whether the seed was asked for. A synthesizer whose draw is the protection must not repeat, and gets none.
    account, digest
        What a synthesis is charged to, and the digest of its input, by which a model that was paid for is found again
        after a run that stopped; None: it is not kept.
    progress
        Called with the name of each step as it begins.
    pseudonyms
        What the keys of linked tables are replaced by; None: numbers in a secret order.
    beside
        Numbers that take part in the grouping alone, one for each row of the table; None: there are none.
    groups
        The group of each row of the table where that is settled, as an earlier release had it; −1 for rows that are
        grouped anew, among themselves. None: all are.
    """

    seed: int
    key: str
    seeded: bool = True
    account: Any = None
    digest: str | None = None
    progress: Progress = quiet
    pseudonyms: Pseudonyms | None = None
    beside: Mapping[str, FloatArray] | None = None
    groups: IntArray | None = None

    def widened(self, prepared: Prepared) -> Prepared:
        """The table as it is grouped: with the numbers that take part in the grouping alone."""
        if not self.beside:
            return prepared
        new = {name: values[prepared.rows] for name, values in self.beside.items()}
        columns = (*prepared.schema.columns, *(Column(name=name, role="quasi", kind="numeric") for name in new))
        schema = replace(prepared.schema, columns=columns)
        return replace(prepared, frame=with_columns(prepared.frame, new), schema=schema)

    def order(self, n: int) -> IntArray:
        """The secret order of n released rows."""
        return secret(self.key, "shuffle").permutation(n)


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What a recipe made of a table; `shoal.release` holds it to its claims and writes it.

    Parameters
    ----------
    frame
        What goes out, rows in the order in which they go.
    prepared
        The table as the run worked on it.
    labels
        The group of each original row; −1 for a row that was left out.
    source_rows
        The original row of each released row; −1 where it is nobody's.
    facts, caveats, claims, steps
        What happened, what must be said beside the bound, what the method itself claims, what each step did.
    original
        The table in the types of what was made, where that isn't how it came in.
    model, spending, paid
        The fitted model of synthetic rows, what their account has spent, and where the model is kept until they are
        written.
    linked
        The tables of events, where tables are linked.
    """

    frame: Frame
    prepared: Prepared
    labels: IntArray
    source_rows: IntArray
    facts: tuple[Fact, ...] = ()
    caveats: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()
    steps: tuple[Step, ...] = ()
    original: Any = None
    model: Model | None = None
    spending: Spending | None = None
    paid: PaidModel | None = None
    linked: Linked | None = None


class Recipe(ABC):
    """How a release is made."""

    __slots__ = ()

    command: ClassVar[str]
    """The command that runs it: ``shoal anonymize``, ``coarsen`` or ``synthesize``."""
    entries: ClassVar[tuple[frozenset[str], ...]]
    """The sets of names that its words have."""

    asks: ClassVar[frozenset[str]] = frozenset()
    """What may be asked beside it: a ``preset`` that the table is held to, a ``limit`` of the privacy account."""
    is_of_people: ClassVar[bool] = True
    """Whether the released rows are people's; synthetic ones are nobody's."""
    has_preset_steps: ClassVar[bool] = False
    """Whether a preset's own steps are among its methods."""

    @abstractmethod
    def run(self, table: Any, schema: Any, run: Run) -> Made:
        """Make what will be released from a table and the roles of its columns, or from linked tables and theirs."""

    @classmethod
    @abstractmethod
    def read(cls, words: Mapping[str, Any], method: ReadMethod) -> Recipe:
        """Read a recipe of this kind from words with the names of `entries`."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The recipe as JSON- and TOML-safe words."""

    @abstractmethod
    def options(
        self, *, seed: int | None, preset: str | None, accept: bool, limit: float | None, account: bool
    ) -> list[str]:
        """The options of its command line; a ParameterError if it can't express them."""

    @property
    @abstractmethod
    def methods(self) -> tuple[Method, ...]:
        """Its methods in their order."""

    @property
    @abstractmethod
    def family(self) -> str:
        """Its family in a comparison, one of `FAMILIES`."""

    @property
    def k(self) -> int:
        """How many persons hide together at least; 1 where nothing is promised."""
        return 1

    @property
    def is_blind(self) -> bool:
        """Whether no rule on the released quasi-identifiers tells whose row of a group is which."""
        return False

    @property
    def collapses(self) -> bool:
        """Whether the rows of a group are made equal at the end."""
        return False

    @property
    def rewrites_quasi(self) -> bool:
        """Whether its methods write the quasi-identifiers, so that free text in one does not stand as it came."""
        return False

    def rewrites(self, schema: Schema) -> tuple[str, ...]:
        """The columns besides the quasi-identifiers that its masks write, in the order of the schema."""
        return ()

    def handed(self, schema: Schema) -> tuple[tuple[str, ...], ...]:
        """The blocks of columns that are handed round, each by itself; none where rows stay together."""
        return ()

    def is_apart(self, schema: Schema) -> bool:
        """Whether no row is a person's: every column that leaves was handed round by itself."""
        return len(self.handed(schema)) > 1

    @property
    def keeps_groups(self) -> bool:
        """Whether groups of an earlier release can take the place of those that it would make."""
        return False

    @property
    def blanks_cells(self) -> bool:
        """Whether single cells of records that are kept may be blanked."""
        return False

    @property
    def leaves_out(self) -> bool:
        """Whether records may be left out."""
        return False

    @property
    def why_inside(self) -> str | None:
        """Why no comparison with the original may leave; None where some may."""
        return None

    @property
    def perturbs(self) -> bool:
        """Whether single records are changed whatever their groups are, so that neither k nor a group says anything."""
        return False

    @property
    def limits(self) -> tuple[tuple[str, float | None], ...]:
        """Limits on attackers that methods were given, each with the size of the population."""
        given = ((getattr(method, "risk", None), getattr(method, "population", None)) for method in self.methods)
        return tuple((risk, population) for risk, population in given if risk is not None)

    @property
    def population_size(self) -> float | None:
        """Persons that the table was drawn from, where limits on attackers were given it."""
        return next((size for _, size in self.limits if size is not None), None)

    @property
    def is_minimal(self) -> bool:
        """Whether it changes no more than k asks for, so that knowing how it works tells something."""
        return False

    @property
    def groups_by_response(self) -> bool:
        """Whether sensitive numbers take part in the grouping."""
        return False

    @property
    def records_groups(self) -> bool:
        """Whether its groups are kept inside, as another machine may find others from the same key."""
        return False

    @property
    def repeats(self) -> bool:
        """Whether a seed and a key make the same table again."""
        return True

    @property
    def takes_seed(self) -> bool:
        """Whether a seed costs nothing of what is promised."""
        return True

    @property
    def needs_prepared(self) -> bool:
        """Whether the table must be held to the schema's rules for missing numbers; a synthesizer has its own."""
        return True

    @property
    def price(self) -> Price | None:
        """What it costs in privacy loss; None where nothing is counted."""
        return None

    @property
    def bill(self) -> Budget | None:
        """The whole of what a run costs, where it is known beforehand."""
        return None

    @property
    def title(self) -> str:
        """The methods as on the command line, without parameters that are at their defaults."""
        return ", then ".join(map(short, self.methods))

    def __str__(self) -> str:
        return ", then ".join(map(spell, self.methods))


def method_words(method: Method) -> dict[str, Any]:
    """A method as the words of a recipe."""
    return {"method": method.name, **to_dict(method)}


def checked_methods(owner: str, rule: str, given: Sequence[Any], family: Family) -> tuple[Any, ...]:
    """Copies of methods of one family, at least one; a wrong parameter is an error, before any data is read."""
    wrong = [type(one).__name__ for one in given if not (isinstance(one, Method) and one.family == family)]
    if wrong or not given:
        raise ParameterError(owner, rule, got=wrong[0] if wrong else "none", hint=offer(family))
    for method in given:
        check(method)
    return tuple(method.clone() for method in given)


def offer(family: Family) -> str:
    """A hint that names what can be chosen."""
    return f"Choose one of: {', '.join(cls.name for cls in methods(family))}."
