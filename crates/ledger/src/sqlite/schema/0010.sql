-- The authorization in clear text, for operators: its network (`eip155:196`), asset and nonce. They
-- are written at the reservation and never changed, so a row keeps its size. They are NULL in
-- entries of earlier versions.
ALTER TABLE entry ADD COLUMN network TEXT;
ALTER TABLE entry ADD COLUMN asset BLOB;
ALTER TABLE entry ADD COLUMN nonce BLOB;
