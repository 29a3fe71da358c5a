//! The participants of a siege, drawn from its seed.

use alloy_primitives::{Address, keccak256};

use crate::SiegeError;
use crate::buyer::{Buyer, DELEGATED_KIND};
use crate::chance::Chance;
use crate::owner::{Owner, address};
use crate::payment::Wallet;
use crate::world::Accounts;

/// How many honest buyers have their times measured.
const STEADY: u8 = 6;
/// How many honest buyers have dependencies that fail.
const USUAL: u8 = 6;
/// How many honest buyers also close connections early.
const FLAKY: u8 = 4;
/// How many honest buyers pay from contract wallets.
const CONTRACTS: u8 = 2;
/// How many honest buyers have accounts that have delegated to code.
const DELEGATED: u8 = 2;
/// How many honest owners have sub-wallets.
const OWNERS: u8 = 3;
/// How many honest buyers send each payment to all servers at once.
const AT_ALL: u8 = 4;

/// The beginning of the names of buyers that send each payment to all servers at once.
const AT_ALL_KIND: &str = "everywhere";

/// The purchases of steady buyers. The server has their data in memory, so no upstream determines
/// their time.
const KEPT: [&str; 2] = ["/all-tokens?limit=3", "/all-tokens?limit=5"];

/// The participants of a siege.
#[derive(Debug)]
pub struct Cast {
    /// The honest buyers.
    pub buyers: Vec<Buyer>,
    /// The honest owners of sub-wallets.
    pub owners: Vec<Owner>,
    /// A payer with a sub-wallet, whose file is exchanged for the one of an owner.
    pub robber: Buyer,
    /// Wallets with money, for attackers.
    pub rich: Vec<Wallet>,
    /// Wallets with enough money for one cheap call, for attackers.
    pub poor: Vec<Wallet>,
    /// Keys with money whose accounts have delegated to code that refuses every signature.
    pub refusing: Vec<Wallet>,
}

impl Cast {
    /// Draws the participants from a seed. With one server, no buyer sends to all servers at once.
    ///
    /// # Errors
    /// When a drawn key is invalid, which does not happen in practice.
    pub fn draw(seed: u64, servers: usize) -> Result<Self, SiegeError> {
        let mut chance = Chance::of(seed, "wallets");
        let mut wallets = |count: u8| -> Result<Vec<Wallet>, SiegeError> {
            (0..count).map(|_| Wallet::draw(&mut chance)).collect()
        };
        let at_all = if servers > 1 { AT_ALL } else { 0 };
        let kept = KEPT.map(str::to_owned).to_vec();
        let mut usual = kept.clone();
        for token in [
            "0xe538905cf8410324e03A5A23C1c177a474D59b2b",
            "0x779Ded0c9e1022225f8E0630b35a9b54bE713736",
            "0x4ae46a509F6b1D9056937BA4500cb143933D2dc8",
        ] {
            usual.push(format!("/price?token={token}"));
        }
        let mut buyers = Vec::new();
        for (kind, count, targets, hang_ups) in [
            ("steady", STEADY, &kept, 0),
            ("usual", USUAL, &usual, 0),
            ("flaky", FLAKY, &usual, 2),
            ("contract", CONTRACTS, &usual, 0),
            (DELEGATED_KIND, DELEGATED, &usual, 0),
            (AT_ALL_KIND, at_all, &usual, 0),
        ] {
            for (number, wallet) in (0_u8..).zip(wallets(count)?) {
                let from = format!("10.0.{}.{number}", kind.len());
                buyers.push(Buyer {
                    name: format!("{kind} buyer {number}"),
                    wallet: match kind {
                        "contract" => wallet.of_contract(),
                        _ => wallet,
                    },
                    address: address(from),
                    targets: targets.clone(),
                    steady: kind == "steady",
                    hang_ups,
                    at_all: kind == AT_ALL_KIND,
                });
            }
        }
        let acting = |name: String, wallet: Wallet, place: u8| Buyer {
            address: address(format!("10.8.0.{place}")),
            name,
            wallet,
            targets: Vec::new(),
            steady: false,
            hang_ups: 0,
            at_all: false,
        };
        let (rich, poor, refusing) = (wallets(3)?, wallets(8)?, wallets(2)?);
        let mut owners = Vec::new();
        for (number, wallet) in (0..).zip(wallets(OWNERS)?) {
            owners.push(Owner {
                buyer: acting(format!("owner {number}"), wallet, number),
                delegate: Wallet::draw(&mut Chance::of(seed, &format!("delegate {number}")))?,
                grant_id: keccak256(format!("grant {seed} {number}")),
                wallet: Address::ZERO,
            });
        }
        let robber = Wallet::draw(&mut Chance::of(seed, "robber"))?;
        Ok(Self {
            buyers,
            owners,
            robber: acting("robber".to_owned(), robber, u8::MAX),
            rich,
            poor,
            refusing,
        })
    }

    /// Returns the accounts of the buyers whose dependencies never fail.
    pub fn steady(&self) -> Vec<Address> {
        let steady = self.buyers.iter().filter(|buyer| buyer.steady);
        steady.map(|buyer| buyer.wallet.address()).collect()
    }

    /// Returns the accounts that need money or code.
    pub fn accounts(&self) -> Accounts {
        let buyers = self.buyers.iter().map(|buyer| &buyer.wallet);
        let delegated = self
            .buyers
            .iter()
            .filter(|buyer| buyer.name.starts_with(DELEGATED_KIND));
        Accounts {
            delegated: delegated.map(|buyer| buyer.wallet.address()).collect(),
            refusing: self.refusing.iter().map(Wallet::address).collect(),
            contracts: buyers.clone().filter_map(Wallet::contract).collect(),
            rich: buyers
                .chain(&self.rich)
                .chain([&self.robber.wallet])
                .map(Wallet::address)
                .chain(self.owners.iter().map(Owner::address))
                .collect(),
            owners: self.owners.iter().map(Owner::address).collect(),
            poor: self.poor.iter().map(Wallet::address).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delegated_accounts_buy_and_attack() {
        let accounts = Cast::draw(1, 1).unwrap().accounts();
        let count = |of: &[Address]| u8::try_from(of.len()).unwrap();
        assert_eq!(
            (count(&accounts.delegated), count(&accounts.refusing)),
            (DELEGATED, 2)
        );
        let rich = |account| accounts.rich.contains(account);
        assert!(accounts.delegated.iter().all(rich));
    }

    #[test]
    fn a_seed_casts_the_same_wallets() {
        let addresses = |seed| Cast::draw(seed, 1).unwrap().accounts().rich;
        assert_eq!(addresses(1), addresses(1));
        assert_ne!(addresses(1), addresses(2));
    }

    #[test]
    fn buyers_pay_at_all_servers_only_when_there_are_several() {
        let at_all = |servers| {
            let buyers = Cast::draw(1, servers).unwrap().buyers;
            buyers.iter().filter(|buyer| buyer.at_all).count()
        };
        assert_eq!((at_all(1), at_all(2)), (0, AT_ALL.into()));
    }
}
