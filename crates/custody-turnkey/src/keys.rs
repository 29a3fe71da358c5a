//! The assignment of the organisation's private keys to owners.
//!
//! A key belongs to the owner that its name states. The module compares what Turnkey lists and
//! sends no request.

use std::collections::HashMap;

use alloy_primitives::Address;
use custody::{Owner, Owners, Provider, Wallet};

use crate::api::{Moment, PrivateKey};

/// The curve of the keys of EVM accounts.
pub(crate) const CURVE: &str = "CURVE_SECP256K1";

/// The form of their addresses.
pub(crate) const FORMAT: &str = "ADDRESS_FORMAT_ETHEREUM";

const PREFIX: &str = "wallet-eip155-";

/// The name of an owner's key. [`owner_of`] reads it back.
pub(crate) fn name_of(owner: Owner) -> String {
    format!("{PREFIX}{}-{:#x}", owner.chain_id(), owner.address())
}

/// The owner of the key with this name.
pub(crate) fn owner_of(name: &str) -> Option<Owner> {
    let (chain_id, address) = name.strip_prefix(PREFIX)?.split_once('-')?;
    let owner = Owner::new(chain_id.parse().ok()?, address.parse().ok()?);
    (name_of(owner) == name).then_some(owner)
}

/// An owner's key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) id: String,
    pub(crate) wallet: Wallet,
    /// Seconds and nanoseconds of the creation.
    created: Option<(u64, u32)>,
}

impl Held {
    /// A private key as an owner's key, if it is one: by its name, on the right curve, created at
    /// Turnkey, with one address.
    pub(crate) fn of(key: &PrivateKey) -> Option<Self> {
        let owner = owner_of(&key.private_key_name)?;
        if key.imported {
            tracing::warn!(%owner, "a key with a wallet's name was imported and does not count");
            return None;
        }
        let mut addresses = key.addresses.iter().filter(|one| one.format == FORMAT);
        let address: Address = addresses.next()?.address.parse().ok()?;
        if key.curve != CURVE || addresses.next().is_some() {
            return None;
        }
        let created = key.created_at.as_ref().and_then(moment);
        Some(Self {
            id: key.private_key_id.clone(),
            wallet: Wallet {
                owner,
                address,
                created_at: created.map(|(seconds, _)| seconds),
                provider: Provider::Turnkey,
                exported: key.exported,
            },
            created,
        })
    }

    /// Whether this key counts before another one of the same owner: it was created earlier, or at
    /// the same moment with the lower id. A key without a time counts as late.
    fn is_before(&self, other: &Self) -> bool {
        let rank = |held: &Self| (held.created.is_none(), held.created, held.id.clone());
        rank(self) < rank(other)
    }
}

fn moment(moment: &Moment) -> Option<(u64, u32)> {
    Some((moment.seconds.parse().ok()?, moment.nanos.parse().ok()?))
}

/// The known keys of all owners.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    by_owner: HashMap<Owner, Held>,
    owners: HashMap<Address, Owner>,
}

impl Keys {
    /// The keys of a list: of several keys of one owner, the first one counts.
    pub(crate) fn of(list: &[PrivateKey]) -> Self {
        let mut keys = Self::default();
        for held in list.iter().filter_map(Held::of) {
            let owner = held.wallet.owner;
            let earlier = keys.by_owner.get(&owner);
            if earlier.is_none_or(|earlier| held.is_before(earlier)) {
                keys.by_owner.insert(owner, held);
            }
        }
        let owners = keys.by_owner.values();
        keys.owners = owners
            .map(|held| (held.wallet.address, held.wallet.owner))
            .collect();
        keys
    }

    pub(crate) fn of_owner(&self, owner: Owner) -> Option<Held> {
        self.by_owner.get(&owner).cloned()
    }

    /// The owners of all wallets, and when each was made.
    pub(crate) fn owners(&self) -> Owners {
        let made = |(owner, held): (&Owner, &Held)| (*owner, held.wallet.created_at);
        self.by_owner.iter().map(made).collect()
    }

    /// Replaces the listed data about one key by a later reading.
    pub(crate) fn update(&mut self, held: &Held) {
        if let Some(known) = self.by_owner.get_mut(&held.wallet.owner)
            && known.id == held.id
        {
            *known = held.clone();
        }
    }

    pub(crate) fn at(&self, address: Address) -> Option<Held> {
        self.of_owner(*self.owners.get(&address)?)
    }
}

#[cfg(test)]
mod tests {
    use crate::api::KeyAddress;

    use super::*;

    const OWNER: Owner = Owner::new(196, Address::repeat_byte(0xab));

    fn key(id: &str, created: Option<(&str, &str)>) -> PrivateKey {
        PrivateKey {
            private_key_id: id.to_owned(),
            private_key_name: name_of(OWNER),
            curve: CURVE.to_owned(),
            addresses: vec![KeyAddress {
                format: FORMAT.to_owned(),
                address: Address::left_padding_from(id.as_bytes()).to_string(),
            }],
            created_at: created.map(|(seconds, nanos)| Moment {
                seconds: seconds.to_owned(),
                nanos: nanos.to_owned(),
            }),
            exported: false,
            imported: false,
        }
    }

    #[test]
    fn a_name_is_read_back_in_one_way() {
        let name = "wallet-eip155-196-0xabababababababababababababababababababab";
        assert_eq!(name_of(OWNER), name);
        assert_eq!(owner_of(name), Some(OWNER));
        for other in [
            "",
            "wallet-eip155-196-",
            "wallet-eip155-0196-0xabababababababababababababababababababab",
            "wallet-eip155-196-0xABABABABABABABABABABABABABABABABABABABAB",
            "wallet-eip155-196-0xabababababababababababababababababababab-2",
            "Wallet-eip155-196-0xabababababababababababababababababababab",
        ] {
            assert_eq!(owner_of(other), None, "{other}");
        }
    }

    #[test]
    fn of_several_keys_the_first_one_counts_in_any_order() {
        let list = [
            key("d", None),
            key("c", Some(("10", "5"))),
            key("b", Some(("9", "900"))),
            key("a", Some(("9", "901"))),
            // Of two keys from the same moment, the one with the lower id counts.
            key("bb", Some(("9", "900"))),
        ];
        for turn in 0..list.len() {
            let mut turned = list.to_vec();
            turned.rotate_left(turn);
            let keys = Keys::of(&turned);
            let held = keys.of_owner(OWNER).unwrap();
            assert_eq!(held.id, "b");
            assert_eq!(held.wallet.created_at, Some(9));
            assert_eq!(keys.at(held.wallet.address), Some(held));
            let loser = Address::left_padding_from(b"a");
            assert_eq!(keys.at(loser), None);
        }
        // One without a time counts when there is no other.
        assert_eq!(Keys::of(&list[..1]).of_owner(OWNER).unwrap().id, "d");
    }

    #[test]
    fn keys_that_are_no_wallets_do_not_count() {
        let made = || key("a", Some(("1", "0")));
        let mut list = vec![made(), made(), made(), made()];
        list[0].imported = true;
        list[1].curve = "CURVE_ED25519".to_owned();
        list[2].addresses.clear();
        list[3].private_key_name = "the treasury".to_owned();
        assert_eq!(Keys::of(&list).of_owner(OWNER), None);
        assert!(Keys::of(&[made()]).of_owner(OWNER).is_some());
    }
}
