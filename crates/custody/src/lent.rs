//! A wallet as a signer for the sender of transactions.

use std::sync::Arc;

use alloy_primitives::{Address, Bytes};
use tx_sender::{SignError, SignFuture, TransactionSigner, Unsigned};

use crate::{Custody, CustodyError, Purpose, Subject};

struct Lent {
    custody: Arc<dyn Custody>,
    wallet: Address,
    purpose: Purpose,
}

/// Lends a wallet to the sender of transactions, for one purpose. The key stays in custody: each
/// transaction goes through [`Custody::sign`].
#[must_use]
pub fn lend(
    custody: Arc<dyn Custody>,
    wallet: Address,
    purpose: Purpose,
) -> Arc<dyn TransactionSigner> {
    Arc::new(Lent {
        custody,
        wallet,
        purpose,
    })
}

impl TransactionSigner for Lent {
    fn account(&self) -> Address {
        self.wallet
    }

    fn sign<'a>(&'a self, unsigned: &'a Unsigned) -> SignFuture<'a, Bytes> {
        Box::pin(async move {
            let subject = Subject::Transaction(unsigned);
            let signed = self.custody.sign(self.wallet, subject, self.purpose).await;
            match signed {
                Ok(signature) => Ok(unsigned.with_signature(signature)),
                Err(
                    CustodyError::Interrupted
                    | CustodyError::Io { .. }
                    | CustodyError::Records { .. }
                    | CustodyError::ProviderUnavailable { .. }
                    | CustodyError::ProviderBusy { .. },
                ) => Err(SignError::Unavailable),
                Err(CustodyError::ProviderMalformed { .. }) => Err(SignError::Malformed),
                Err(CustodyError::OtherSigner { expected, observed }) => {
                    Err(SignError::OtherAccount { expected, observed })
                }
                Err(refused) => Err(SignError::Refused {
                    message: refused.code().to_owned(),
                }),
            }
        })
    }
}
