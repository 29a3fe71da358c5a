-- A JSON list of the delegations of an account that is fenced on the chain as well; the empty list
-- for every other grant. It is written with the grant and never changed.
ALTER TABLE permission ADD COLUMN delegations TEXT NOT NULL DEFAULT '[]';
