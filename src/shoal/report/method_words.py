"""The words of the account: what a role means, what each method does to a column and to the table, and what is kept.

Sentences name what is true of the method whatever the data. A method without words here is told by its name.
"""

from __future__ import annotations

__all__ = ["COLUMN_WORDS", "KEPT_WORDS", "METHOD_WORDS", "PARTS", "REASONS", "ROLES"]

ROLES = {
    "identifier": "identifier",
    "quasi": "quasi-identifier",
    "sensitive": "sensitive",
    "weight": "survey weight",
    "unit": "person number",
    "other": "other",
}
REASONS = {
    "identifier": "It names a person.",
    "quasi": "It can be matched against outside knowledge.",
    "sensitive": "It is what the release is about; it must not be learnt of a known person.",
    "weight": "Analyses need it.",
    "unit": "It links the rows of one person.",
    "other": "It was declared neither identifying nor sensitive.",
}
PARTS = ("group", "mask", "coarsen", "synthesize")
COLUMN_WORDS = {
    "centroid": "replaced: the average of the person's group, or the level nearest to it",
    "resample": "replaced: values of randomly drawn members of the person's group",
    "resample-permuted": "replaced: the values of the person's group, dealt out anew at random",
    "cell-dither": "replaced: values drawn from the distribution of the person's group",
    "gaussian-dither": "replaced: values drawn around the centre of the person's group, so that the distribution of "
    "the whole table is kept",
    "micro-perturb": "replaced: the centre of the person's group, with noise that keeps means and covariances",
    "push-back": "changed for people who stood out: moved back into the nearest group",
    "flatten": "replaced: the central value of the person's group",
    "shuffle": "values exchanged between the people of a group",
    "generalize": "coarsened: wider intervals or categories, the same for everybody",
    "mondrian": "coarsened: the interval or set of values of the person's class",
    "suppress": "left out in some rows",
    "recode": "recoded by the steps given",
    "pegs": "synthetic: drawn from noisy building blocks of the table",
    "perturbed-imputation": "synthetic: drawn from perturbed regressions",
    "marginal-bootstrap": "synthetic: drawn from the column's own distribution",
    "multiple-imputation": "synthetic: drawn from regressions",
    "safe-harbor": "coarsened as the Safe Harbor rule says, where it has a rule for such a column",
    "limited-data-set": "left as it is, after a look for names and street addresses",
}
KEPT_WORDS = {
    "centroid": "The mean of each group; spread and links shrink.",
    "resample": "Values that people of the group have; how often each occurs, up to chance.",
    "resample-permuted": "Every value, exactly as often as before.",
    "cell-dither": "The column's distribution, up to chance.",
    "gaussian-dither": "The distribution, alone and with the other quasi-identifiers, up to chance.",
    "micro-perturb": "The mean, and spread and links between numbers as far as the noise restores them.",
    "push-back": "The value of everybody who did not stand out.",
    "flatten": "The central value of each group.",
    "shuffle": "The values of each group; not who has which.",
    "generalize": "In which interval or category the value lies.",
    "mondrian": "An interval or set that holds the value.",
    "suppress": "Every value that was not left out.",
    "recode": "What the steps leave.",
    "safe-harbor": "What the rule leaves.",
    "limited-data-set": "Everything.",
    "pegs": "What the noisy building blocks hold of it.",
    "perturbed-imputation": "What a perturbed regression on the other columns holds of it.",
    "marginal-bootstrap": "The column's own distribution; no link to another column.",
    "multiple-imputation": "What a regression on the columns before it holds of it.",
}
METHOD_WORDS = {
    "k-member": "Each person was put into a group of at least {k} people who resemble each other (greedy k-member "
    "grouping).",
    "mdav": "Each person was put into a group of at least {k} people who resemble each other (MDAV grouping, by "
    "maximum distance to the average).",
    "mst": "Each person was put into a group of at least {k} people who are near each other (by cutting the longest "
    "edges of a minimum spanning tree).",
    "crest": "Each person was put into a group of at least {k} people who are near each other and mixed in what is "
    "sensitive (class restricted spanning tree).",
    "t-close-mst": "Each person was put into a group of at least {k} people who are near each other and as mixed in "
    "what is sensitive as the table is (t-close minimum spanning tree).",
    "centroid": "All members of a group got the same values: the group's average, or the level nearest to it.",
    "resample": "Each person got the values of a randomly drawn member of the group.",
    "resample-permuted": "The values of each group were dealt out anew among its members at random.",
    "cell-dither": "Each person got values drawn from the cells around the values of the group, bent back onto the "
    "distribution of the whole table.",
    "gaussian-dither": "Each person got values drawn at random around the centre of the group, bent back onto the "
    "distribution of the whole table (Gaussian dither and Rosenblatt's transformation).",
    "micro-perturb": "All members of a group got the group's centre, with noise that keeps means and covariances "
    "(micro-perturbation).",
    "ball": "People were gathered in groups that are near each other in every quasi-identifier (epsilon-balls); groups "
    "of fewer than {k} were left to be moved.",
    "push-back": "People who stood out were moved back into the nearest group, in the columns in which they were too "
    "far away.",
    "flatten": "In the columns named, all members of a group got its central value.",
    "shuffle": "Values were exchanged between the members of a group, one column at a time, so that distances to the "
    "group's centre stay distributed as they were.",
    "generalize": "Quasi-identifiers were replaced by wider intervals or categories, column by column and the same for "
    "everybody, until each combination is shared by at least {k} people; records that still stood out were left out.",
    "mondrian": "The people were divided into classes of at least {k}, and each got the intervals and sets that cover "
    "the class.",
    "suppress": "Single values were left out until each combination is shared by at least {k} people.",
    "recode": "Columns were recoded by fixed steps.",
    "limited-data-set": "Columns that name a person or a street address were refused.",
    "pegs": "The table was taken apart into small tables of counts, noise was put on them, and rows were drawn from "
    "them (Perturbed Gibbs Sampler).",
    "perturbed-imputation": "Rows were drawn from regressions of each column on the others, perturbed.",
    "marginal-bootstrap": "Each column was drawn by itself; links between columns are lost.",
    "multiple-imputation": "Rows were drawn from regressions of each column on those before it.",
    "safe-harbor": "Columns were coarsened by the rules of HIPAA Safe Harbor: three digits of a ZIP code, years "
    "instead of dates, ages over 89 pooled.",
}
