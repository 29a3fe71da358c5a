//! An owner's request for the key of a wallet, and its answer. `docs/PROTOCOL.md` has the formats.
//!
//! This module judges the request and encrypts the key. The provider marks the wallet, so that its
//! key signs nothing afterwards.

mod refusal;
mod seal;

use std::fmt;
use std::str::FromStr;

use alloy_primitives::{Address, B256, Bytes, Signature, U256};
use alloy_sol_types::{SolStruct as _, eip712_domain, sol};
use serde::{Deserialize, Serialize};

pub use self::refusal::ExportRefusal;
pub(crate) use self::seal::seal;
use crate::Owner;

/// How long a request is valid, in seconds, so that an old one is useless to its finder.
const LIFETIME: u64 = 7 * 86_400;

/// How far the owner's clock may be ahead, in seconds.
const AHEAD: u64 = 300;

/// Half of the order of secp256k1: no `s` is higher (EIP-2).
const HALF_ORDER: U256 = U256::from_limbs([
    0xdfe9_2f46_681b_20a0,
    0x5d57_6e73_57a4_501d,
    0xffff_ffff_ffff_ffff,
    0x7fff_ffff_ffff_ffff,
]);

mod typed {
    #![allow(missing_docs, reason = "the macro writes the code")]

    use super::sol;

    sol! {
        struct WalletExport {
            address owner;
            address wallet;
            bytes32 publicKey;
            uint64 issuedAt;
        }
    }
}

/// An owner's signed request for the key of its wallet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportRequest {
    /// The owner of the wallet, who is also the signer.
    pub owner: Owner,
    /// The wallet.
    pub wallet: Address,
    /// The X25519 key that the wallet's key is encrypted to.
    pub public_key: B256,
    /// When it was signed, in Unix seconds.
    pub issued_at: u64,
    /// The owner's signature of the typed data: 65 bytes.
    pub signature: Bytes,
}

/// A wallet's key, encrypted to its owner's public key (RFC 9180, single-shot, base mode).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Export {
    /// The name of this format.
    pub format: &'static str,
    /// The owner of the wallet.
    pub owner: String,
    /// The wallet.
    pub wallet: Address,
    /// The digest of the request. The encryption covers it, the owner and the wallet.
    pub request: B256,
    /// The encapsulated key.
    pub enc: Bytes,
    /// The 32 bytes of the private key, encrypted and authenticated.
    pub ciphertext: Bytes,
}

impl Export {
    /// The name of the format, which is also the `info` of the encryption.
    pub const FORMAT: &'static str = "wallet-export-2";
}

impl fmt::Display for Export {
    /// The document for the owner, as JSON.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

/// The request in its written form.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    owner: String,
    wallet: Address,
    public_key: B256,
    issued_at: u64,
    signature: Bytes,
}

impl FromStr for ExportRequest {
    type Err = ExportRefusal;

    /// Reads the document of a request. Nothing is judged yet.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let written: Written = serde_json::from_str(text)
            .map_err(|error| ExportRefusal::Malformed(error.to_string()))?;
        let owner = written.owner.parse();
        Ok(Self {
            owner: owner.map_err(|error| ExportRefusal::Malformed(format!("owner: {error}")))?,
            wallet: written.wallet,
            public_key: written.public_key,
            issued_at: written.issued_at,
            signature: written.signature,
        })
    }
}

impl ExportRequest {
    /// The digest that the owner signs (EIP-712): the domain is `"<brand> wallets"`, version `"1"`,
    /// on the owner's chain.
    #[must_use]
    pub fn digest(&self, brand: &str) -> B256 {
        let domain = eip712_domain! {
            name: format!("{brand} wallets"),
            version: "1",
            chain_id: self.owner.chain_id(),
        };
        let message = typed::WalletExport {
            owner: self.owner.address(),
            wallet: self.wallet,
            publicKey: self.public_key,
            issuedAt: self.issued_at,
        };
        message.eip712_signing_hash(&domain)
    }

    /// Checks that the owner signed the request. Returns its digest.
    pub(crate) fn verify(&self, brand: &str) -> Result<B256, ExportRefusal> {
        let bytes: &[u8; 65] =
            self.signature
                .as_ref()
                .try_into()
                .map_err(|_| ExportRefusal::ContractOwner {
                    observed: self.signature.len(),
                })?;
        let signature = Signature::from_raw_array(bytes).map_err(|_| ExportRefusal::Signature)?;
        // A signature has one form, the one that wallet libraries write.
        let [.., v] = bytes;
        if signature.s() > HALF_ORDER || !matches!(v, 0 | 1 | 27 | 28) {
            return Err(ExportRefusal::Signature);
        }
        let digest = self.digest(brand);
        let observed = signature
            .recover_address_from_prehash(&digest)
            .map_err(|_| ExportRefusal::Signature)?;
        let expected = self.owner.address();
        if observed != expected {
            return Err(ExportRefusal::OtherSigner { expected, observed });
        }
        Ok(digest)
    }

    /// Checks that the request is neither too old nor of the future.
    pub(crate) fn check_time(&self, now: u64) -> Result<(), ExportRefusal> {
        let issued_at = self.issued_at;
        if issued_at > now.saturating_add(AHEAD) {
            return Err(ExportRefusal::IssuedLater { issued_at, now });
        }
        if now.saturating_sub(issued_at) > LIFETIME {
            return Err(ExportRefusal::Expired { issued_at, now });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
