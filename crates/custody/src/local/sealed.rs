//! The form of a wallet's file. `docs/WALLETS.md` describes it for a recovery without this program.
//!
//! The key is sealed with the name of the form, the file's name, the owner, the address and the
//! time of the creation: a file that is changed, renamed or put in another one's place does not
//! open. A file has one spelling, so no byte of it can be changed without a fault.

use alloy_primitives::{Address, B256, FixedBytes};
use keystore::Key;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::old_form;
use super::secret::{Sealer, Stretching, random, unusable};
use crate::{CustodyError, FileFault, Owner};

/// The name of the form.
const FORMAT: &str = "wallet-1";

/// A wallet's file, with its key out of the seal.
pub(super) struct Unsealed {
    pub(super) owner: Owner,
    pub(super) address: Address,
    pub(super) created_at: Option<u64>,
    bytes: Zeroizing<Vec<u8>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    format: String,
    owner: String,
    address: Address,
    created_at: Option<u64>,
    stretching: Stretching,
    salt: B256,
    sealed: FixedBytes<48>,
}

impl Unsealed {
    /// The key, which is that of the address.
    pub(super) fn key(&self) -> Result<Key, FileFault> {
        let altered = |_| FileFault::Altered {
            how: "holds no key",
        };
        let key = Key::from_bytes(&self.bytes).map_err(altered)?;
        let (expected, observed) = (self.address, key.address());
        match expected == observed {
            true => Ok(key),
            false => Err(FileFault::AddressDiffers { expected, observed }),
        }
    }
}

impl Written {
    /// What the seal covers besides the key.
    fn about(&self, name: &str) -> String {
        let created_at = self.created_at.map(|at| at.to_string()).unwrap_or_default();
        let (owner, address) = (&self.owner, self.address);
        format!("{FORMAT}\n{name}\n{owner}\n{address:#x}\n{created_at}\n")
    }

    fn render(&self) -> Option<String> {
        serde_json::to_string(self)
            .ok()
            .map(|text| format!("{text}\n"))
    }

    /// Reads the one spelling of a file.
    fn parse(text: &str) -> Result<Self, FileFault> {
        let written: Self = match serde_json::from_str(text) {
            Ok(written) => written,
            Err(_) if old_form::is_one(text) => return Err(FileFault::OldForm),
            Err(_) => {
                return Err(FileFault::Altered {
                    how: "has another form",
                });
            }
        };
        if written.format != FORMAT || written.render().as_deref() != Some(text) {
            return Err(FileFault::Altered {
                how: "has another form",
            });
        }
        Ok(written)
    }
}

/// Writes a wallet's file.
pub(super) fn seal(
    sealer: &Sealer,
    key: &Key,
    owner: Owner,
    created_at: Option<u64>,
) -> Result<String, CustodyError> {
    let mut written = Written {
        format: FORMAT.to_owned(),
        owner: owner.to_string(),
        address: key.address(),
        created_at,
        stretching: sealer.stretching(),
        salt: random()?,
        sealed: FixedBytes::ZERO,
    };
    let about = written.about(&owner.file_name());
    let sealed = sealer.seal(written.salt, &about, key.to_bytes().as_slice())?;
    written.sealed = FixedBytes::try_from(sealed.as_slice()).map_err(|_| unusable())?;
    written.render().ok_or_else(unusable)
}

/// Opens the file of this name. Everything in the result is what was sealed.
pub(super) fn open(sealer: &Sealer, name: &str, text: &str) -> Result<Unsealed, FileFault> {
    let written = Written::parse(text)?;
    let owner: Option<Owner> = written.owner.parse().ok();
    let Some(owner) = owner.filter(|owner| owner.file_name() == name) else {
        return Err(FileFault::Altered {
            how: "states another owner than its name does",
        });
    };
    if written.stretching != sealer.stretching() {
        return Err(FileFault::OfAnotherSecret);
    }
    let opened = sealer.open(
        written.salt,
        &written.about(name),
        written.sealed.as_slice(),
    );
    let bytes = opened.ok_or(FileFault::Altered {
        how: "does not open",
    })?;
    Ok(Unsealed {
        owner,
        address: written.address,
        created_at: written.created_at,
        bytes,
    })
}

/// How the secret of a file is stretched, and the owner that it states. `None` where the text is of
/// another form.
pub(super) fn stated(text: &str) -> Option<(Stretching, Owner)> {
    let written = Written::parse(text).ok()?;
    Some((written.stretching, written.owner.parse().ok()?))
}

/// How the secret of a file is stretched. `None` where the text is of another form.
pub(super) fn stretching(text: &str) -> Option<Stretching> {
    stated(text).map(|(stretching, _)| stretching)
}
