#!/bin/sh
# Runs once, when the database is made: the role of the service, which may add entries and not change them.
# `shoal ledger create --service-role shoal_service` grants it what it needs.
set -eu
psql --set ON_ERROR_STOP=1 --set password="$SHOAL_SERVICE_PASSWORD" --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" <<'SQL'
CREATE ROLE shoal_service LOGIN PASSWORD :'password';
SQL
