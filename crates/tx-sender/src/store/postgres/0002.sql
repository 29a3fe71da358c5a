-- Whose turn it is on an account, for all books. A row stays for good: its token only rises.
CREATE TABLE sender_turn (
    account text PRIMARY KEY,
    -- What the turn is for; empty when that is done.
    work text NOT NULL,
    token bigint NOT NULL,
    -- By the database's clock.
    until timestamptz NOT NULL
) WITH (fillfactor = 50);
