//! The export of wallets: the mark of an export is on disk before the key is returned.

use alloy_primitives::{Address, B256};
use serde::{Deserialize, Serialize};

use super::{Inner, LocalCustody, Lock, files, lock, now};
use crate::export::seal;
use crate::{CustodyError, Export, ExportRefusal, ExportRequest, Owner};

/// The content of the file that marks a wallet as exported. It is written once and never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Mark {
    pub(super) wallet: Address,
    /// The digest of the first granted request.
    pub(super) request: B256,
    /// The time, in Unix seconds.
    pub(super) exported_at: u64,
}

impl LocalCustody {
    /// Gives a wallet's key to its owner, encrypted to the key in the owner's signed request. The
    /// wallet is marked as exported, durably, before this returns, and signs nothing from then on,
    /// in this process and in every other one of the folder. The same request always has the same
    /// answer, so an interrupted run can be repeated. Another request of the same owner, to another
    /// key, is also granted, because the wallet's key belongs to the owner.
    ///
    /// `brand` is the service's name in the signed data.
    ///
    /// # Errors
    /// [`CustodyError::Export`] and [`CustodyError::UnknownWallet`], which change nothing; a mark
    /// that cannot be written.
    pub async fn export(
        &self,
        request: ExportRequest,
        brand: String,
    ) -> Result<Export, CustodyError> {
        self.run(move |inner| inner.export(&request, &brand)).await
    }
}

impl Inner {
    fn export(&self, request: &ExportRequest, brand: &str) -> Result<Export, CustodyError> {
        let digest = request.verify(brand).map_err(CustodyError::Export)?;
        let (owner, wallet) = (request.owner, request.wallet);
        let opened = self.opened(owner)?;
        let opened = opened.ok_or(CustodyError::UnknownWallet(wallet))?;
        let expected = opened.key.address();
        if expected != wallet {
            return Err(CustodyError::Export(ExportRefusal::OtherWallet {
                expected,
                observed: wallet,
            }));
        }
        let now = now();
        let earlier = self.mark(owner)?;
        if earlier.is_none_or(|mark| mark.request != digest) {
            request.check_time(now).map_err(CustodyError::Export)?;
        }
        // Encrypted first: a request whose key cannot be encrypted to leaves no mark.
        let export = seal(request, digest, &opened.key).map_err(CustodyError::Export)?;
        let mark = self.put_mark(
            owner,
            Mark {
                wallet,
                request: digest,
                exported_at: now,
            },
        )?;
        let first = mark.request == digest;
        tracing::warn!(%owner, %wallet, request = %digest, first, "a wallet is exported to its owner: its key signs nothing any more");
        Ok(export)
    }

    /// Whether this or another process exported the owner's wallet.
    pub(super) fn is_exported(&self, owner: Owner) -> Result<bool, CustodyError> {
        if lock(&self.known).exported.contains(&owner) {
            return Ok(true);
        }
        let exported = files::exists(&self.folder, &name(owner))
            .map_err(CustodyError::io("look whether a wallet was exported"))?;
        if exported {
            lock(&self.known).exported.insert(owner);
        }
        Ok(exported)
    }

    /// The mark of the owner's wallet, if it was exported. An unreadable mark is an error, and the
    /// wallet still signs nothing.
    pub(super) fn mark(&self, owner: Owner) -> Result<Option<Mark>, CustodyError> {
        let Some(text) = files::read(&self.folder, &name(owner))? else {
            return Ok(None);
        };
        let mark = serde_json::from_str(&text).map_err(|_| unreadable())?;
        Ok(Some(mark))
    }

    /// Marks the owner's wallet, unless it is marked. Returns the resulting mark.
    fn put_mark(&self, owner: Owner, mark: Mark) -> Result<Mark, CustodyError> {
        let text = serde_json::to_string(&mark).map_err(|_| unreadable())?;
        let _marking = Lock::while_marking(&self.folder)?;
        files::publish(&self.folder, &name(owner), &format!("{text}\n"), |_| Ok(()))
            .map_err(CustodyError::io("mark a wallet as exported"))?;
        self.mark(owner)?.ok_or_else(unreadable)
    }

    /// Copies the mark of the owner's wallet, if there is one, to another folder.
    pub(super) fn hand_mark_to(&self, other: &Self, owner: Owner) -> Result<(), CustodyError> {
        if let Some(mark) = self.mark(owner)? {
            other.put_mark(owner, mark)?;
        }
        Ok(())
    }
}

/// The file that marks the owner's wallet as exported.
fn name(owner: Owner) -> String {
    format!("exported-{}", owner.file_name())
}

fn unreadable() -> CustodyError {
    CustodyError::io("read the mark of an exported wallet")(std::io::ErrorKind::InvalidData.into())
}
