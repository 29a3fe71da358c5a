-- Payments that can begin nothing any more, each with the reason. The first reason is kept.
CREATE TABLE forbidden (
    payment BLOB PRIMARY KEY,
    reason  TEXT NOT NULL,
    at      INTEGER NOT NULL
) STRICT;
