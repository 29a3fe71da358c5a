CREATE INDEX custody_wallet_making ON custody_wallet (begun_at) WHERE address IS NULL;
