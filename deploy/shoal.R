# From a CSV file and its schema to a release, in R: Rscript deploy/shoal.R people.csv schema.toml release
library(reticulate)
shoal <- import("shoal")

given <- commandArgs(trailingOnly = TRUE)
people <- read.csv(given[1])
holed <- vapply(people, function(column) is.integer(column) && anyNA(column), logical(1))
people[holed] <- lapply(people[holed], as.numeric)  # NA of a whole number would arrive as -2147483648
schema <- shoal$Schema$read(given[2])

release <- shoal$anonymize(people, schema, group = shoal$KMember(k = 5L), mask = shoal$GaussianDither(), seed = 7L)
for (claim in release$claims) cat(claim$kind, claim$value, claim$basis, "\n")

release$write(given[3])
released <- read.csv(file.path(given[3], "release.csv"))
stopifnot(nrow(released) == nrow(people), identical(sort(names(released)), sort(names(people))))
