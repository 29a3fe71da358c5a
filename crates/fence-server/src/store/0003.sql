-- The delegations of an account that the chain fences as well, as a JSON list; the empty list for every other grant. Written with the
-- grant, and never changed.
ALTER TABLE permission ADD COLUMN delegations TEXT NOT NULL DEFAULT '[]';
