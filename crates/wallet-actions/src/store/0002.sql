-- Payments that begin nothing any more, and why. The first reason stands.
CREATE TABLE forbidden (
    payment BLOB PRIMARY KEY,
    reason  TEXT NOT NULL,
    at      INTEGER NOT NULL
) STRICT;
