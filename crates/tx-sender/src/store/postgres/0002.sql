-- The turn on each account, for all books. A row stays for good, so that its token only rises.
CREATE TABLE sender_turn (
    account text PRIMARY KEY,
    -- The work that has the turn. Empty when it is done.
    work text NOT NULL,
    token bigint NOT NULL,
    -- By the database's clock.
    until timestamptz NOT NULL
) WITH (fillfactor = 50);
