#!/bin/sh
# Runs once, when the first start has made an empty database. Creates the role of the servers, which owns a database of
# its own and nothing else: it can neither read the server's files nor run programs, so that whoever takes over a server
# does not reach the backups. The superuser loses its password: it works inside the container only.

psql -v ON_ERROR_STOP=1 -U "$POSTGRES_USER" -d postgres <<'EOF'
\getenv password POSTGRES_PASSWORD
CREATE ROLE svc LOGIN PASSWORD :'password';
CREATE DATABASE svc OWNER svc;
ALTER ROLE CURRENT_USER PASSWORD NULL;
EOF
